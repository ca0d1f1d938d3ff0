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

// ErrUnset says that the environment names no provider.
var ErrUnset = errors.New("no provider is set up")

// A Config says which model to open. Make one with [Read]. It prints without its
// key.
type Config struct {
	// Provider is openai, anthropic, googleai, mistral, ollama or compatible.
	Provider string
	// Model is the provider's name of the model.
	Model string
	// BaseURL is where OpenAI's form is spoken. Empty for anthropic and
	// googleai.
	BaseURL string
	// Dimension is how long vectors are, for embeddings. Zero is the model's own length,
	// which [Config.OpenEmbedder] then asks for.
	Dimension int
	// HTTP sends the requests. Nil means [http.DefaultTransport].
	HTTP http.RoundTripper

	// key is behind a pointer, as package fmt follows none: it prints what is in
	// a field that is not exported without asking for a String.
	key *string
}

// String says which model it is, without the key.
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
		return "an address that can not be read"
	}
	return u.Redacted()
}

// A source is what is known of a provider.
type source struct {
	name  string
	keys  []string // variables that hold its key
	hints []string // further variables that name it
	model string   // the default
	base  string   // the default address
}

var sources = []source{
	{name: "openai", keys: []string{"OPENAI_API_KEY"}, hints: []string{"OPENAI_BASE_URL"}, model: "gpt-5-mini", base: openAIBase},
	{name: "anthropic", keys: []string{"ANTHROPIC_API_KEY"}, model: "claude-sonnet-4-5"},
	{name: "googleai", keys: []string{"GOOGLE_API_KEY"}, model: "gemini-2.5-flash"},
	{name: "mistral", keys: []string{"MISTRAL_API_KEY"}, model: "mistral-small-latest", base: "https://api.mistral.ai/v1"},
	{name: "ollama", hints: []string{"OLLAMA_HOST"}, model: "llama3.2", base: "http://127.0.0.1:11434/v1"},
	{name: "compatible", keys: []string{"OPENAI_API_KEY"}},
}

const openAIBase = "https://api.openai.com/v1"

// An environment looks up a variable. What is not set is empty.
type environment func(name string) string

func (e environment) get(name string) string { return strings.TrimSpace(e(name)) }

// Read reads the environment by way of getenv, which is [os.Getenv] or a test's.
// It returns [ErrUnset] if no variable names a provider; every other error names
// the variable that is missing, wrong, or at odds with another.
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
	if c.elsewhere() && c.Provider != "ollama" {
		return Config{}, fmt.Errorf("LLM_MODEL is not set: the server at OPENAI_BASE_URL has models of its own")
	}
	c.Model = s.model
	return c, nil
}

// elsewhere says whether OpenAI's form is spoken by somebody else.
func (c Config) elsewhere() bool {
	if c.Provider == "mistral" || c.BaseURL == "" {
		return false
	}
	u, err := url.Parse(c.BaseURL)
	return err != nil || u.Hostname() != "api.openai.com"
}

// source finds the provider.
func (e environment) source() (source, error) {
	if name := strings.ToLower(e.get("LLM_PROVIDER")); name != "" {
		i := slices.IndexFunc(sources, func(s source) bool { return s.name == name })
		if i < 0 {
			return source{}, fmt.Errorf("LLM_PROVIDER is %.40q, which is none of %s", name, names())
		}
		return sources[i], nil
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
		return source{}, fmt.Errorf("%s are set, and LLM_PROVIDER does not say which of them counts", strings.Join(set, " and "))
	}
	for _, variable := range []string{"LLM_API_KEY", "LLM_MODEL"} {
		if e.get(variable) != "" {
			return source{}, fmt.Errorf("%s is set, and LLM_PROVIDER is not: it is one of %s", variable, names())
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

// address reads where the provider is.
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
				return errors.New("OPENAI_BASE_URL is not set: LLM_PROVIDER is compatible, and nothing says with whom")
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

// ollamaBase reads OLLAMA_HOST as Ollama does: scheme, port and path may be left
// out, and 0.0.0.0 is where a server listens and not where one finds it.
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
				return fmt.Errorf("%s holds what no key can", variable)
			}
			c.key = &key
			return nil
		}
	}
	if c.elsewhere() {
		none := "none"
		c.key = &none // the server asks for none, and the library insists on one
		return nil
	}
	return fmt.Errorf("%s is not set, nor is LLM_API_KEY, and %s asks for a key", s.keys[0], s.name)
}
