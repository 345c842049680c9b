package s3bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
)

// credentialsTime is how long the search for credentials may take: the last
// place of the standard chain is an address that only some machines have.
const credentialsTime = 10 * time.Second

// fallbackRegion is what a server gets that has an endpoint of its own and so
// rarely cares; the region takes part in every signature.
const fallbackRegion = "us-east-1"

// Open opens the bucket that a URL names, of the form
//
//	s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME&path-style=BOOL]
//
// All keys stand below PREFIX. Without an endpoint, AWS_ENDPOINT_URL_S3,
// AWS_ENDPOINT_URL and then Amazon are meant; the region is taken from the
// environment, and is us-east-1 with an endpoint; path-style, which puts the
// bucket's name in the path and not in the host's name, is true with an endpoint.
// Credentials come from the environment and from the files and services that AWS's
// own tools look at, never from the URL.
//
// The bucket must exist and the credentials must let it be listed, which one
// request finds out. What writes need is found out before the first of them, so
// that reading needs no right to write. Each error is one sentence with what to
// do.
func Open(ctx context.Context, rawURL string) (*Bucket, error) {
	where, err := parseLocation(rawURL)
	if err != nil {
		return nil, fmt.Errorf("opening a store: %w", err)
	}
	client, err := connect(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("opening the store s3://%s: %w", where.bucket, err)
	}
	b := &Bucket{
		client:  client,
		name:    where.bucket,
		root:    where.root,
		sizes:   defaultSizes,
		probing: make(chan struct{}, 1),
	}
	_, err = client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket:  &b.name,
		Prefix:  &b.root,
		MaxKeys: aws.Int32(1),
	})
	if err != nil {
		return nil, b.explain("opening the store s3://"+where.bucket, err)
	}
	return b, nil
}

func connect(ctx context.Context, where location) (*s3.Client, error) {
	// The library warns on standard error about places without credentials.
	cfg, err := config.LoadDefaultConfig(ctx, config.WithLogger(logging.Nop{}))
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration; correct it, or set AWS_CONFIG_FILE to another file: %w", err)
	}
	if where.region != "" {
		cfg.Region = where.region
	}
	asked := asksForChecksums(cfg)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { adjust(o, where, asked) })
	if client.Options().Region == "" {
		return nil, errors.New("no region is known; add region=NAME to the store's URL or set AWS_REGION")
	}
	limited, cancel := context.WithTimeout(ctx, credentialsTime)
	defer cancel()
	if _, err := client.Options().Credentials.Retrieve(limited); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	return client, nil
}

// asksForChecksums reports whether the user's configuration says when checksums
// are sent. The library's own default can't be told from a choice in the result.
func asksForChecksums(cfg aws.Config) bool {
	for _, source := range cfg.ConfigSources {
		switch source := source.(type) {
		case config.EnvConfig:
			if source.RequestChecksumCalculation != aws.RequestChecksumCalculationUnset {
				return true
			}
		case config.SharedConfig:
			if source.RequestChecksumCalculation != aws.RequestChecksumCalculationUnset {
				return true
			}
		}
	}
	return false
}

func adjust(o *s3.Options, where location, checksumsAsked bool) {
	if where.endpoint != "" {
		o.BaseEndpoint = &where.endpoint
	}
	if o.BaseEndpoint != nil {
		if o.Region == "" {
			o.Region = fallbackRegion
		}
		o.UsePathStyle = true
		if !checksumsAsked {
			// The library's default is a checksum in a trailer of a chunked body,
			// which many servers that are not Amazon's refuse or store as part of
			// the body.
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	}
	if where.pathStyle != nil {
		o.UsePathStyle = *where.pathStyle
	}
}
