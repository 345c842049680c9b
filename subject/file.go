package subject

// The two kinds of subject.
const (
	KindHandler = "handler"
	KindRuntime = "runtime"
)

// File is a subject file as its owner writes it; [Load] reads it.
type File struct {
	// Name is how reports call the subject.
	Name string `yaml:"name"`
	// Kind is handler or runtime.
	Kind string `yaml:"kind"`
	// Setup is commands that are run in {cache}, once per content of this list
	// and of the files and folders that it names by {dir}, {dir}/.. included.
	Setup []Args `yaml:"setup,omitempty"`
	// Version is a command that prints the subject's version.
	Version Args `yaml:"version,omitempty"`
	// Transports is how a handler is reached; those that are there are declared.
	Transports Transports `yaml:"transports,omitempty"`
	// Features is what the subject claims; what is claimed must work.
	Features []string `yaml:"features,omitempty"`
	// Commands is a runtime's operations as argument lists, by the names of
	// CommandNames.
	Commands map[string]Args `yaml:"commands,omitempty"`
	// Driver is a program that answers a runtime's operations, instead of Commands.
	Driver Args `yaml:"driver,omitempty"`
	// KnownFailures is the path of the known-failures file, from the folder of
	// the subject file.
	KnownFailures string `yaml:"known-failures,omitempty"`
	// Mask is names of variables whose values are secrets, beside those whose names say
	// so: evidence and reports show the names in their place.
	Mask []string `yaml:"mask,omitempty"`
}

// Args is an argument list, never a shell line. In YAML it is a list of texts. One
// text is taken too, and split at white space, if a shell would read it the same
// way: with a quote, a backslash or a shell's operator in it, it is refused.
type Args []string

// Transports is how a handler is reached.
type Transports struct {
	// Subprocess is a command that is started for each invocation.
	Subprocess *CommandTransport `yaml:"subprocess,omitempty"`
	// RPC is a command that serves on descriptor 3 (PUGMARK_RPC_URL=fd://3).
	RPC *CommandTransport `yaml:"rpc,omitempty"`
	// HTTP is a service that is reached by its URL.
	HTTP *HTTPTransport `yaml:"http,omitempty"`
}

// CommandTransport starts a handler by a command.
type CommandTransport struct {
	Command Args `yaml:"command"`
}

// HTTPTransport reaches a handler by URL; Command, if there is one, is started
// and stopped with the run. {port} in both is a free port.
type HTTPTransport struct {
	URL     string `yaml:"url"`
	Command Args   `yaml:"command,omitempty"`
}
