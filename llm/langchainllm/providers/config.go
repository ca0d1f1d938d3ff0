package providers

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// ErrUnset is returned if the environment names no provider.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#providerserrunset.
var ErrUnset = errors.New("no provider is set up")

// A Config selects a model. [Read] returns one from the environment; a program can also make
// one, and add the key with [Config.WithKey]. String does not return the key.
type Config struct {
	// Provider is openai, anthropic, googleai, mistral, ollama or compatible.
	Provider string
	// Model is the provider's name of the model. Empty means the default of the provider;
	// compatible has no default.
	Model string
	// BaseURL is the address of a server with OpenAI's API. Empty means the address of the
	// provider; compatible has no default. Anthropic and googleai ignore it.
	BaseURL string
	// Dimension is the length of vectors, for embeddings. Zero means the model's own length,
	// which [Config.OpenEmbedder] then measures.
	Dimension int
	// HTTP sends the requests. Nil means [http.DefaultTransport].
	HTTP http.RoundTripper

	// key is a pointer, because package fmt does not follow pointers in a struct. If a Config is
	// in an unexported field of a struct, fmt prints its fields without calling its String.
	key *string
}

// WithKey returns a copy of c with the key for the provider.
func (c Config) WithKey(key string) Config {
	c.key = &key
	return c
}

// String returns the provider, the model and the address, without the key.
func (c Config) String() string {
	if c.BaseURL == "" {
		return c.Provider + " " + c.Model
	}
	return c.Provider + " " + c.Model + " at " + withoutUser(c.BaseURL)
}

// GoString is [Config.String], so that no format prints the key.
func (c Config) GoString() string { return c.String() }

func withoutUser(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Redacted()
}

// A source describes a provider.
type source struct {
	name  string
	api   string   // the package that opens its models
	keys  []string // variables that hold its key
	hints []string // other variables that select it
	model string   // the default
	base  string   // the default address
}

var sources = []source{
	{name: "openai", api: "openai", keys: []string{"OPENAI_API_KEY"}, hints: []string{"OPENAI_BASE_URL"}, model: "gpt-5-mini", base: openAIBase},
	{name: "anthropic", api: "anthropic", keys: []string{"ANTHROPIC_API_KEY"}, model: "claude-sonnet-4-5"},
	{name: "googleai", api: "googleai", keys: []string{"GOOGLE_API_KEY"}, model: "gemini-2.5-flash"},
	{name: "mistral", api: "openai", keys: []string{"MISTRAL_API_KEY"}, model: "mistral-small-latest", base: "https://api.mistral.ai/v1"},
	{name: "ollama", api: "openai", hints: []string{"OLLAMA_HOST"}, model: "llama3.2", base: "http://127.0.0.1:11434/v1"},
	{name: "compatible", api: "openai", keys: []string{"OPENAI_API_KEY"}},
}

const openAIBase = "https://api.openai.com/v1"

// sourceOf returns the provider with a name.
func sourceOf(name string) (source, bool) {
	i := slices.IndexFunc(sources, func(s source) bool { return s.name == name })
	if i < 0 {
		return source{}, false
	}
	return sources[i], true
}

// An environment returns the value of a variable, and "" if the variable is not set.
type environment func(name string) string

func (e environment) get(name string) string { return strings.TrimSpace(e(name)) }

// Read reads the environment with getenv, usually [os.Getenv]. It returns [ErrUnset] if no
// variable selects a provider. Any other error names the variable that is missing or invalid,
// or the variables that contradict each other.
func Read(getenv func(string) string) (Config, error) {
	c, err := environment(getenv).read()
	if err != nil {
		return Config{}, fmt.Errorf("providers: %w", err)
	}
	return c, nil
}

func (e environment) read() (Config, error) {
	s, err := e.source()
	if err != nil {
		return Config{}, err
	}
	c := Config{Provider: s.name, Model: e.get("LLM_MODEL"), BaseURL: s.base}
	if err := e.address(&c); err != nil {
		return Config{}, err
	}
	if err := e.secret(&c, s); err != nil {
		return Config{}, err
	}
	if c.Model != "" {
		return c, nil
	}
	if c.isCompatible() && c.Provider != "ollama" {
		return Config{}, errors.New("LLM_MODEL is not set: the server at OPENAI_BASE_URL has models of its own")
	}
	c.Model = s.model
	return c, nil
}

// isCompatible reports whether the server has OpenAI's API but is not the server of OpenAI or
// Mistral.
func (c Config) isCompatible() bool {
	if c.Provider == "mistral" || c.BaseURL == "" {
		return false
	}
	u, err := url.Parse(c.BaseURL)
	return err != nil || u.Hostname() != "api.openai.com"
}

// source returns the provider that the variables select.
func (e environment) source() (source, error) {
	if name := strings.ToLower(e.get("LLM_PROVIDER")); name != "" {
		s, ok := sourceOf(name)
		if !ok {
			return source{}, fmt.Errorf("LLM_PROVIDER is %.40q; it must be one of %s", name, names())
		}
		return s, nil
	}
	var found []source
	var set []string
	for _, s := range sources[:len(sources)-1] {
		for _, variable := range slices.Concat(s.keys, s.hints) {
			if e.get(variable) != "" {
				found, set = append(found, s), append(set, variable)
				break
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return source{}, fmt.Errorf("%s are set; set LLM_PROVIDER to select one provider", strings.Join(set, " and "))
	}
	for _, variable := range []string{"LLM_API_KEY", "LLM_MODEL"} {
		if e.get(variable) != "" {
			return source{}, fmt.Errorf("%s is set, and LLM_PROVIDER is not; it must be one of %s", variable, names())
		}
	}
	return source{}, fmt.Errorf("%w: set LLM_PROVIDER, or the key of a provider such as OPENAI_API_KEY", ErrUnset)
}

func names() string {
	var all []string
	for _, s := range sources {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}

// address reads the address of the provider.
func (e environment) address(c *Config) error {
	switch c.Provider {
	case "ollama":
		if host := e.get("OLLAMA_HOST"); host != "" {
			base, err := ollamaBase(host)
			if err != nil {
				return err
			}
			c.BaseURL = base
		}
	case "openai", "compatible":
		base := e.get("OPENAI_BASE_URL")
		if base == "" {
			if c.Provider == "compatible" {
				return errors.New("OPENAI_BASE_URL is not set; LLM_PROVIDER=compatible needs the address of the server")
			}
			return nil
		}
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("OPENAI_BASE_URL is not an address such as https://host/v1")
		}
		c.BaseURL = strings.TrimRight(base, "/")
	}
	return nil
}

// ollamaBase reads OLLAMA_HOST as Ollama does: the scheme, the port and the path are
// optional. A server that listens on 0.0.0.0 is reached at 127.0.0.1.
func ollamaBase(host string) (string, error) {
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("OLLAMA_HOST is not an address such as 127.0.0.1:11434")
	}
	name, port := u.Hostname(), u.Port()
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "11434", "https": "443"}[u.Scheme]
	}
	u.Host = net.JoinHostPort(name, port)
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), "/") + "/v1"
	return u.String(), nil
}

// secret reads the key.
func (e environment) secret(c *Config, s source) error {
	for _, variable := range append(slices.Clone(s.keys), "LLM_API_KEY") {
		if key := e.get(variable); key != "" {
			if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return fmt.Errorf("%s has a character that no key has", variable)
			}
			c.key = &key
			return nil
		}
	}
	if c.isCompatible() {
		return nil
	}
	return fmt.Errorf("neither %s nor LLM_API_KEY is set, and %s needs a key", s.keys[0], s.name)
}
