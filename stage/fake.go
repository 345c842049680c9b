package stage

import (
	"net"
	"net/http"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/subject"
)

// handler is the scripted fake as the runtime under test is told of it, on the
// world's transport. done ends what serves it.
func (w *World) handler() (spec subject.HandlerSpec, done func(), err error) {
	command := append(append([]string(nil), w.fake.Command...), w.script, w.records)
	switch w.transport {
	case protocol.TransportRPC:
		return subject.HandlerSpec{RPC: command}, func() {}, nil
	case protocol.TransportHTTP:
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return subject.HandlerSpec{}, nil, err
		}
		service := &http.Server{Handler: fakehandler.Handler(w.script, w.records)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			service.Serve(listener)
		}()
		return subject.HandlerSpec{URL: "http://" + listener.Addr().String() + "/"}, func() {
			service.Close()
			<-ended
		}, nil
	}
	return subject.HandlerSpec{Command: command}, func() {}, nil
}
