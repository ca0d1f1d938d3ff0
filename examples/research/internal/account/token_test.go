package account_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/research/internal/account"
)

// Processes that begin at once share one secret, and its tokens are valid.
func TestSecret(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	secrets := make([]string, 8)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			secret, err := account.Secret(folder)
			if err != nil {
				t.Error(err)
			}
			secrets[i] = string(secret)
		})
	}
	all.Wait()
	slices.Sort(secrets)
	if len(slices.Compact(secrets)) != 1 {
		t.Fatalf("there is more than one secret")
	}
	v, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{Secret: []byte(secrets[0]), Issuer: account.Issuer})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, name := range []string{"ann", "bob", "ann"} {
		token, err := account.Sign([]byte(secrets[0]), name, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		u, err := v.Verify(t.Context(), token)
		if err != nil || u.ID != account.UserID(name) || !account.IsUUID(u.ID) {
			t.Errorf("%s: got %+v, error %v", name, u, err)
		}
		ids[u.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("got the users %v want 2", ids)
	}
	if id := "6BA7B810-9DAD-41D1-80B4-00C04FD430C8"; account.UserID(id) != "6ba7b810-9dad-41d1-80b4-00c04fd430c8" {
		t.Errorf("got %s", account.UserID(id))
	}
}

// A header Authorization of another scheme has no token, and the cookies do not replace it.
func TestToken(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "of the cookie", "Bearer x": "x", "bearer x": "x", "BEARER  x": "x", "Token x": "", "Basic eDp5": "", "Bearer": "", "Bearer ": "", "x": "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: account.LocalCookie, Value: account.Cookie("of the cookie")})
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		if got := account.Token(r, account.LocalCookie); got != want {
			t.Errorf("%q: got %q want %q", header, got, want)
		}
	}
}

func TestCookieName(t *testing.T) {
	t.Parallel()
	for project, want := range map[string]string{
		"https://abcdefgh.supabase.co": "sb-abcdefgh-auth-token", "http://127.0.0.1:54321": "sb-127-auth-token", "http://localhost": account.LocalCookie,
	} {
		if got := account.CookieName(project); got != want {
			t.Errorf("%s: got %s want %s", project, got, want)
		}
	}
}
