package fakehandler

import (
	"net"
	"net/http"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/transcript"
)

// service is the scripted handler over HTTP. A GET without a query is a health
// check and no invocation; everything else is one, right or wrong.
type service struct {
	scripted
	transport string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.RawQuery == "" {
		return
	}
	rec, err := newRecord(s.folder, s.transport)
	if err != nil {
		complain(err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a := &answer{
		ctx: r.Context(), w: w, control: http.NewResponseController(w), rec: rec, exchange: rec.Exchange(),
		process: s.transport == protocol.TransportRPC,
	}
	if a.process {
		rec.process()
	}
	rec.Add(transcript.Event{Kind: transcript.Request, Stream: transcript.Post, Text: arrival(r), HTTP: &transcript.HTTP{
		Exchange: a.exchange, Method: r.Method, Target: r.RequestURI, Proto: r.Proto, Header: requestHeader(r),
	}})
	// A handler may answer without reading (P16/early-exit).
	if err := a.control.EnableFullDuplex(); err != nil {
		rec.note("full duplex: %v", err)
	}
	p := &player{
		folder: s.folder, rec: rec, prefix: s.prefix, out: a,
		in:    newInput(r.Body, transcript.Post, rec),
		trace: protocol.TraceContextFromHeader(r.Header),
	}
	end, err := p.playNumbered(r.Context(), s.script)
	if err != nil {
		p.fault(err)
		end = outcome{status: StatusFault}
		if a.process { // else stderr is the harness's own
			complain(err)
		}
	}
	if end.signal != "" {
		die(rec, end.signal)
	}
	whole := a.finish(end.status)
	if err := rec.close(); err != nil {
		complain(err) // there is no record left to say it in
		whole = false
	}
	if !whole || a.how.Drop {
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	}
}

// arrival says at which address of this side a request came in.
func arrival(r *http.Request) string {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return at.Network() + " " + at.String()
	}
	return ""
}
