package main

import "github.com/spf13/cobra"

// statusTopic and environmentTopic are pages of the help, not verbs.
func statusTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-status",
		Short: "What the exit statuses say",
		Long: `Exit statuses:

  0  all is well: also for a session that was left alone because it is paused, and
     for an invocation that added nothing
  1  an invocation failed by its handler: it could not be started, exited with
     another status than 0, was ended by a signal, answered with another HTTP
     status than 200, or wrote what is no record. Nothing of it was committed; what
     earlier invocations of the same run committed stays
  2  everything else: wrong usage, a value of a flag that can't be used, a session
     or a store that does not exist, a handler that is not registered, a store that
     can't be reached or that ignores conditions, and an interruption by Ctrl-C,
     SIGTERM or SIGHUP, which ends handlers that run. An interrupted run leaves what
     was committed, and nothing half done; a second signal ends it at once. Also when
     nobody reads the output to its end, as behind head: then without a word

Standard error says in one line what is wrong and what to do. Bytes in it that a
terminal would heed are escaped; what a handler writes to its standard error is
passed on as it comes. When that line says that something may or may not be stored,
look with log.`,
	}
}

func environmentTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "Which environment variables are read, and what handlers get",
		Long: `Variables that run reads:

  TRACEPARENT, TRACESTATE
      The trace context it was started in. The state is passed on to handlers with a
      valid parent only; their trace ID is the session ID whatever comes in.
  OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
      Any of them, unless the exporter is none, has the spans of each invocation sent
      over OTLP (http/protobuf; http://localhost:4318 unless an endpoint is given).
      Also heeded: the HEADERS, TIMEOUT, COMPRESSION and PROTOCOL of OTLP,
      OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED, and the
      variables of the sampler, the batches and the limits.

Variables that stores at s3:// read: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_S3 and the others of AWS's own tools.

Handlers get the environment of this program, with these changes: every PUGMARK_
variable and the trace context are this invocation's or absent (PUGMARK_AGENT_ID,
PUGMARK_SESSION_ID, PUGMARK_SESSION_METADATA, TRACEPARENT, TRACESTATE, and
PUGMARK_RPC_URL with --rpc), and NO_PROXY has the loopback addresses, by which
bodies and memory are read.`,
	}
}
