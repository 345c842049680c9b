package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"pugmark.dev/conform/reference"
)

// flushTime is how long the program stays at its end to send spans.
const flushTime = 5 * time.Second

// startTracing gives the tracer that the standard variables ask for, nil for none.
// What is wrong with them or with the collector is logged and stops nothing. Call
// flush at the end.
func (a *app) startTracing(ctx context.Context, getenv func(string) string) (tracer trace.Tracer, flush func()) {
	logger := a.logger()
	settings, asked, err := otlpSettings(getenv)
	if err != nil {
		logger.Warn("spans are not exported", "error", err)
	}
	if !asked || err != nil {
		return nil, func() {}
	}
	described, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "pugmark-ref")), resource.WithFromEnv())
	if err != nil {
		logger.Warn("OTEL_RESOURCE_ATTRIBUTES is left out in part", "error", err)
	}
	exporter, err := otlptrace.New(ctx, newOTLPClient(settings))
	if err != nil {
		logger.Warn("spans are not exported", "error", err)
		return nil, func() {}
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(loggedExporter{exporter, logger}),
		sdktrace.WithIDGenerator(sessionIDs{}), sdktrace.WithResource(described))
	return provider.Tracer("pugmark.dev/conform/reference"), func() {
		// An interrupted run is worth its spans too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Warn("spans are not exported", "error", err)
		}
	}
}

// loggedExporter logs what the library would tell a global handler.
type loggedExporter struct {
	sdktrace.SpanExporter
	logger *slog.Logger
}

func (e loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.logger.Warn(fmt.Sprintf("%d spans are lost", len(spans)), "error", err)
	}
	return nil
}

// sessionIDs makes the session ID the trace ID (P14.1/session-trace-id).
type sessionIDs struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (g sessionIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id, ok := reference.SessionTraceID(ctx)
	for !ok || !id.IsValid() {
		_, _ = rand.Read(id[:])
		ok = true
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (sessionIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		_, _ = rand.Read(id[:])
	}
	return id
}
