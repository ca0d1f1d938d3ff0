package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// CookieName returns the name of the cookie in which Supabase's libraries for browsers keep a session of the
// project at an address.
func CookieName(project string) string {
	host := ""
	if u, err := url.Parse(project); err == nil {
		host, _, _ = strings.Cut(u.Hostname(), ".")
	}
	return "sb-" + host + "-auth-token"
}

// Token returns the access token of a request: the bearer token, or the token in the cookies of a project if there
// is no header Authorization. It is empty if there is none.
func Token(r *http.Request, cookie string) string {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return strings.TrimSpace(token)
	}
	value := ""
	if c, err := r.Cookie(cookie); err == nil {
		value = c.Value
	}
	for i := 0; value == "" || i > 0; i++ { // a long value is split among cookies
		c, err := r.Cookie(fmt.Sprintf("%s.%d", cookie, i))
		if err != nil {
			break
		}
		value += c.Value
	}
	return ofSession(value)
}

// ofSession finds the token in a session: JSON, as base64 or escaped as in a URL.
func ofSession(value string) string {
	if text, ok := strings.CutPrefix(value, "base64-"); ok {
		data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return ""
		}
		value = string(data)
	} else if text, err := url.QueryUnescape(value); err == nil && strings.HasPrefix(value, "%") {
		value = text
	}
	var session struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(value), &session); err != nil {
		return "" // it is no session
	}
	return session.Token
}

// Issuer is the issuer of tokens in a program that has no Supabase project.
const Issuer = "http://localhost/auth/v1"

// LocalCookie is the name of the cookie in a program that has no Supabase project.
var LocalCookie = CookieName("http://localhost")

// Cookie returns the value of a cookie with a token.
func Cookie(token string) string {
	data, _ := json.Marshal(map[string]string{"access_token": token}) // a map of texts is JSON
	return "base64-" + base64.RawURLEncoding.EncodeToString(data)
}

// Secret returns the secret in a folder, and makes one if there is none.
func Secret(folder string) ([]byte, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "jwt-secret")
	fresh := path + "." + rand.Text()
	if err := os.WriteFile(fresh, []byte(rand.Text()+rand.Text()), 0o600); err != nil {
		return nil, err
	}
	// The first of several processes sets the secret. The link makes the file appear complete.
	err := os.Link(fresh, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err = errors.Join(err, os.Remove(fresh)); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Sign returns a token for a user, as a project's auth server would.
func Sign(secret []byte, user string, life time.Duration) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": Issuer, "aud": "authenticated", "role": "authenticated", "sub": UserID(user), "exp": time.Now().Add(life).Unix(),
	}).SignedString(secret)
}

var uuidForm = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// IsUUID reports whether a text is a UUID.
func IsUUID(text string) bool { return uuidForm.MatchString(text) }

// UserID returns the id of a user of the local program. A name always has the same id.
func UserID(name string) string {
	if IsUUID(name) {
		return strings.ToLower(name)
	}
	sum := sha256.Sum256([]byte("user " + name))
	return asUUID(sum[:])
}

// asUUID makes a UUID of 16 bytes. Its version is 8, which is for custom data.
func asUUID(b []byte) string {
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
