package stage

import (
	"net"
	"net/http"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/subject"
)

// services is what serves a run's handlers in this process.
type services []func()

func (s services) close() {
	for _, end := range s {
		end()
	}
}

// request tells the runtime under test of the scripted fake, and of those with a
// name, on the world's transport.
func (w *World) request(here *lay) (request subject.RunRequest, served services, err error) {
	if request.Default, err = w.handler(here, "", &served); err != nil {
		return request, nil, err
	}
	for _, name := range here.names {
		if request.Named == nil {
			request.Named = map[string]subject.HandlerSpec{}
		}
		if request.Named[name], err = w.handler(here, name, &served); err != nil {
			served.close()
			return request, nil, err
		}
	}
	return request, served, nil
}

// servicePath is where the scripted handler is exposed over HTTP. It is not the root,
// so that a runtime that drops the path of a URL is seen (casefile.RequestMatch).
const servicePath = "/handlers/conform"

// handler is one scripted fake as a runtime is told of it.
func (w *World) handler(here *lay, name string, served *services) (subject.HandlerSpec, error) {
	command := append(append([]string(nil), w.fake.Command...), here.file(name), here.records)
	switch w.transport {
	case protocol.TransportRPC:
		return subject.HandlerSpec{RPC: command}, nil
	case protocol.TransportHTTP:
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return subject.HandlerSpec{}, err
		}
		service := &http.Server{Handler: fakehandler.Handler(here.file(name), here.records)}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			service.Serve(listener)
		}()
		*served = append(*served, func() {
			service.Close()
			<-ended
		})
		return subject.HandlerSpec{URL: "http://" + listener.Addr().String() + servicePath}, nil
	}
	return subject.HandlerSpec{Command: command}, nil
}
