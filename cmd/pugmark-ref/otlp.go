package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The library's own OTLP client brings gRPC along, which costs 2 ms at the start
// of every program that links it, asked for or not: as much as all the rest. The
// library makes the messages here too; this file only posts them.

// otlp says where spans go, by the variables of the OTLP exporter specification.
type otlp struct {
	endpoint string
	headers  http.Header
	timeout  time.Duration
	gzip     bool
}

// otlpSettings reads the variables; asked is false if spans are not to be exported.
func otlpSettings(getenv func(string) string) (settings otlp, asked bool, err error) {
	exporter := getenv("OTEL_TRACES_EXPORTER")
	general, traces := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	switch {
	case strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return otlp{}, false, nil
	case exporter == "" && general == "" && traces == "":
		return otlp{}, false, nil
	case exporter != "" && exporter != "otlp":
		return otlp{}, true, fmt.Errorf("OTEL_TRACES_EXPORTER=%s is not known here; set it to otlp or none", exporter)
	}
	// either gives the variable for traces, or else the one for all signals.
	either := func(name string) string {
		if value := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
			return value
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	if protocol := either("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return otlp{}, true, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL=%s is not known here; set it to http/protobuf", protocol)
	}
	if either("CERTIFICATE")+either("CLIENT_CERTIFICATE")+either("CLIENT_KEY") != "" {
		return otlp{}, true, errors.New("certificates for OTLP are not known here; send to a collector near by, without them")
	}
	settings = otlp{timeout: 10 * time.Second}
	if settings.endpoint, err = otlpEndpoint(general, traces); err != nil {
		return otlp{}, true, err
	}
	if settings.headers, err = otlpHeaders(either("HEADERS")); err != nil {
		return otlp{}, true, err
	}
	if text := either("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return otlp{}, true, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT=%s is no number of milliseconds", text)
		}
		settings.timeout = time.Duration(ms) * time.Millisecond
	}
	switch compression := either("COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		settings.gzip = true
	default:
		return otlp{}, true, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION=%s is not known here; set it to gzip or none", compression)
	}
	return settings, true, nil
}

// otlpEndpoint gives the URL that traces are posted to: the one for traces is taken
// as it is, the one for all signals is a root.
func otlpEndpoint(general, traces string) (string, error) {
	name, value := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces
	if traces == "" {
		name, value = "OTEL_EXPORTER_OTLP_ENDPOINT", general
	}
	if value == "" {
		value = "http://localhost:4318"
	}
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return "", fmt.Errorf("%s=%s is no http or https URL", name, value)
	}
	if traces == "" {
		parsed = parsed.JoinPath("v1", "traces")
	}
	return parsed.String(), nil
}

// otlpHeaders reads a list such as "key=value,other=percent%20encoded".
func otlpHeaders(list string) (http.Header, error) {
	headers := make(http.Header)
	for member := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(member) == "" {
			continue
		}
		name, value, found := strings.Cut(member, "=")
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not of the form name=value,name=value")
		}
		headers.Set(name, plain)
	}
	return headers, nil
}

// otlpClient posts spans. It implements the Client of package otlptrace.
type otlpClient struct {
	otlp
	http *http.Client
}

func newOTLPClient(settings otlp) *otlpClient {
	return &otlpClient{otlp: settings, http: &http.Client{
		Timeout:       settings.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start implements otlptrace.Client.
func (*otlpClient) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *otlpClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// otlpTries is how often spans are sent to a collector that asks to try again.
const otlpTries = 3

// UploadTraces implements otlptrace.Client.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same bytes as an ExportTraceServiceRequest.
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := writer.Write(message); err != nil {
			return err
		}
		if err := writer.Close(); err != nil {
			return err
		}
		message = packed.Bytes()
	}
	for try := 1; ; try++ {
		again, err := c.post(ctx, message)
		if err == nil || !again || try == otlpTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond << try):
		}
	}
}

// post sends a message; again says that the collector wants it later.
func (c *otlpClient) post(ctx context.Context, message []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(message))
	if err != nil {
		return false, err
	}
	request.Header = c.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, fmt.Errorf("%s answered %s: %.200q", c.endpoint, response.Status, text)
}
