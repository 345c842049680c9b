package reference

import "strings"

// loopback are the names by which programs tell a proxy to leave our servers alone.
const loopback = "127.0.0.1,localhost,::1"

// withoutLoopbackProxy adds the loopback addresses to both spellings of NO_PROXY.
func withoutLoopbackProxy(environ []string) []string {
	result := make([]string, 0, len(environ)+2)
	exempt := map[string]string{"NO_PROXY": "", "no_proxy": ""}
	for _, setting := range environ {
		name, value, _ := strings.Cut(setting, "=")
		if _, found := exempt[name]; found {
			exempt[name] = value
			continue
		}
		result = append(result, setting)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		value := loopback
		if exempt[name] != "" {
			value = exempt[name] + "," + loopback
		}
		result = append(result, name+"="+value)
	}
	return result
}
