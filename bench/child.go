package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

// childVerb makes the program one of the processes that it measures with.
const childVerb = "child"

func child(args []string) int {
	if len(args) == 0 {
		return 2
	}
	var err error
	switch args[0] {
	case "drain":
		err = drain()
	case "fetch":
		err = fetch(os.Stdout)
	case "racer":
		err = racer(args[1:])
	default:
		err = fmt.Errorf("no child %q", args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// drain is a handler that reads its input and writes nothing.
func drain() error {
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// fetch is a handler that gets the bodies of its log and writes their total size.
func fetch(out io.Writer) error {
	var total int64
	decoder := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var record struct{ Event, URL string }
		err := decoder.Decode(&record)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if record.URL == "" || record.Event == "memory" {
			continue
		}
		response, err := http.Get(record.URL)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if err != nil {
			return err
		}
		total += n
	}
	_, err := io.WriteString(out, `{"name":"`+strconv.FormatInt(total, 10)+`"}`)
	return err
}
