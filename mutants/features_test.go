package mutants

import (
	"testing"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

func TestATwinIsPutToTheCasesThatItsFeaturesAllow(t *testing.T) {
	o := options(t)
	o.Cases = only(o.Cases, "handler/agreement/", "handler/sdk/minimal-handler-")
	twin := Twin{
		ID: "handler/smallest", Features: minimalFeatures(), Transports: []string{protocol.TransportHTTP},
		Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Code: fakehandler.Minimal} },
	}
	o.Twins = []Twin{twin}
	got := kill(t, o).Twins[0]
	if got.Results != 4 || len(got.Complaints) > 0 {
		t.Errorf("want the page's 4 cases and no complaint, got %d results and %v", got.Results, got.Complaints)
	}
	o.Twins[0].Handler = func() fakehandler.Agreement { return fakehandler.Agreement{} } // follows instructions, of which there are none
	if got := kill(t, o).Twins[0]; len(got.Complaints) == 0 {
		t.Error("a handler that writes nothing is accused of nothing")
	}
}
