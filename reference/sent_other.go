//go:build !linux

package reference

import "net"

// acknowledged is not known here.
func acknowledged(net.Conn) (bytes int64, known bool) { return 0, false }
