package s3bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// statusOf is the HTTP status of the answer behind an error, 0 if there was none.
func statusOf(err error) int {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// codeOf is S3's own word for an error, "" if there is none.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// isRefused reports whether the condition was not met: there is an object.
func isRefused(err error) bool {
	return statusOf(err) == http.StatusPreconditionFailed || codeOf(err) == "PreconditionFailed"
}

// isUnknown reports whether the server does not know what was asked for.
func isUnknown(err error) bool {
	return statusOf(err) == http.StatusNotImplemented || codeOf(err) == "NotImplemented"
}

// serverOf is the name that the server gave itself in an answer.
func serverOf(metadata middleware.Metadata) string {
	answer, _ := awsmiddleware.GetRawResponse(metadata).(*smithyhttp.Response)
	if answer == nil {
		return ""
	}
	return answer.Header.Get("Server")
}

func serverOfError(err error) string {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.Response == nil {
		return ""
	}
	return answer.Response.Header.Get("Server")
}

// explain says what the server answered while doing something, and what to do
// about it. The cause stays in the chain.
func (b *Bucket) explain(doing string, err error) error {
	return &answerError{doing: doing, bucket: b.name, cause: err}
}

type answerError struct {
	doing, bucket string
	cause         error
}

func (e *answerError) Unwrap() error { return e.cause }

func (e *answerError) Error() string {
	if errors.Is(e.cause, context.Canceled) || errors.Is(e.cause, context.DeadlineExceeded) {
		return fmt.Sprintf("%s: %v", e.doing, e.cause)
	}
	status := statusOf(e.cause)
	if status == 0 {
		return fmt.Sprintf("%s: %s", e.doing, e.unanswered())
	}
	text := fmt.Sprintf("%s: the server answered %d", e.doing, status)
	if code := codeOf(e.cause); code != "" {
		text += " " + code
	}
	if advice := e.advice(status); advice != "" {
		text += "; " + advice
	}
	if request := requestOf(e.cause); request != "" {
		text += " (request " + request + ")"
	}
	return text
}

// unanswered is the text for a request that got no answer.
func (e *answerError) unanswered() string {
	var sending *smithyhttp.RequestSendError
	var request *url.Error
	if errors.As(e.cause, &sending) && errors.As(e.cause, &request) {
		// What the library says around it repeats itself and the whole request.
		return fmt.Sprintf("no answer from the server: %v; check the endpoint in the store's URL", request.Err)
	}
	return e.cause.Error()
}

func (e *answerError) advice(status int) string {
	switch codeOf(e.cause) {
	case "NoSuchBucket":
		return fmt.Sprintf("make the bucket %s first, or correct the store's URL", e.bucket)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
		"XAdminUserNotFound": // versitygw's word for a key that it does not know, a 404
		return "check the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of the profile in AWS_PROFILE"
	case codeConflict, codeAborted:
		return "another write of this object is under way; run it again"
	case "RequestTimeTooSkewed":
		return "set this machine's clock"
	case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
		return "set region=NAME in the store's URL to the bucket's region"
	}
	switch {
	case status == http.StatusMovedPermanently:
		return "set region=NAME in the store's URL to the bucket's region"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "let these credentials list the bucket, and get and put its objects"
	case status == http.StatusNotFound:
		return "check the bucket and the endpoint in the store's URL"
	case status == http.StatusConflict:
		// Servers that keep objects as files say so when a name is a folder of
		// others, or below an object, or too long for a file system.
		return "the server can't keep an object of this name beside those that it has; use a shorter name, or another server"
	case status >= 500, status == http.StatusTooManyRequests:
		return "run it again later"
	}
	return ""
}

// requestOf is the request's ID, by which a server's operators find it.
func requestOf(err error) string {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.ServiceRequestID()
	}
	return ""
}
