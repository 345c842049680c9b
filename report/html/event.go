package html

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/transcript"
)

// event is a row for an event that carries no bytes.
func (w wire) event(t *transcript.Transcript, e *transcript.Event, index int) row {
	r := row{us: e.At, order: index, What: string(e.Kind)}
	text := func(s string) string {
		limit := max(w.limits.line, 80)
		if len(s) > limit {
			r.Detail = append(r.Detail, detail{"", line(s, w.limits.record)})
		}
		return opening(s, limit)
	}
	switch e.Kind {
	case transcript.Spawn:
		r.What, r.Text = "start", text(e.Text)
	case transcript.Environment:
		r.Text = count(len(e.Variables), "variable")
		r.Detail = []detail{{"", sorted(e.Variables, w.limits.record)}}
	case transcript.Closed:
		r.What, r.Text = e.Stream, text(strings.TrimSpace("closed "+e.Text))
	case transcript.Left:
		r.What, r.Text = e.Stream, fmt.Sprintf("%d further bytes were not recorded", e.Count)
		if n := len(e.Data); n > 0 {
			r.Text = fmt.Sprintf("%d further bytes, of which the last %d were recorded", e.Count, n)
		}
	case transcript.Killed:
		r.What, r.Text = "ended by force", text(e.Text)
	case transcript.Request, transcript.Response:
		r.What, r.Dir = e.Stream, direction(t, e)
		r.Text = text(head(e))
		r.Detail = append(r.Detail, w.head(e)...)
	default:
		r.Text = text(e.Text)
	}
	if e.Ended != nil {
		r.Note = line(ended(e.Ended), 200)
	}
	return r
}

// direction tells which way a request or a response went. The harness asks at the
// invocation, the handler asks the servers, and which of the two is the subject
// depends on who recorded.
func direction(t *transcript.Transcript, e *transcript.Event) string {
	asked := e.Stream == transcript.Post || e.Stream == transcript.Answer
	to := asked == (t.By == "fakeruntime")
	if e.Kind == transcript.Response {
		to = !to
	}
	if to {
		return toSubject
	}
	return fromSubject
}

// head is the first line of a request or of a response.
func head(e *transcript.Event) string {
	h := e.HTTP
	switch {
	case h == nil:
		return e.Text
	case e.Kind == transcript.Request:
		return h.Method + " " + h.Target
	}
	s := fmt.Sprintf("HTTP status %d", h.Status)
	if h.Length > 0 {
		s += fmt.Sprintf(", %d bytes", h.Length)
	}
	if h.Cut {
		s += ", cut short"
	}
	return s
}

// head is the header of a request or of a response.
func (w wire) head(e *transcript.Event) []detail {
	if e.HTTP == nil {
		return nil
	}
	fields := map[string]string{}
	for name, values := range e.HTTP.Header {
		fields[line(name, 100)] = strings.Join(values, ", ")
	}
	text := sorted(fields, w.limits.record)
	if text == "" {
		return nil
	}
	return []detail{{"", text}}
}

// ended tells how an invocation ended, in words.
func ended(e *transcript.Ended) string {
	var s string
	switch e.How {
	case transcript.HowExit:
		s = fmt.Sprintf("exited with status %d", e.Code)
	case transcript.HowAnswer:
		s = fmt.Sprintf("answered with HTTP status %d", e.Code)
	case transcript.HowSignal:
		s = fmt.Sprintf("ended by signal %d", e.Signal)
		if e.Name != "" {
			s += " (" + e.Name + ")"
		}
	case transcript.HowCut:
		s = "the answer was cut short"
	case transcript.HowNoAnswer:
		s = "gave no answer"
	case transcript.HowHang:
		s = "was still running at the time limit, and was ended by the harness"
	case transcript.HowFlood:
		s = "wrote more than the limit, and was ended by the harness"
	case transcript.HowNotStarted:
		s = "could not be started"
	case transcript.HowCancelled:
		s = "was ended with the whole run"
	default:
		s = e.How
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Group > 0 {
		s += fmt.Sprintf("; processes of its group that had to be killed: %d", e.Group)
	}
	return line(s, 400)
}
