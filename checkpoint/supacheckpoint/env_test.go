package supacheckpoint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// apiKey returns an API key of a project, which is a signed token.
func apiKey(tb testing.TB, role, ref, secret string) string {
	tb.Helper()
	return sign(tb, jwt.SigningMethodHS256, []byte(secret), "", jwt.MapClaims{
		"iss": "supabase", "ref": ref, "role": role, "exp": time.Now().Add(time.Hour).Unix(),
	})
}

func TestCheckServiceKeyAcceptsOnlyTheServiceRole(t *testing.T) {
	t.Parallel()
	expired := sign(t, jwt.SigningMethodHS256, []byte(secret), "", jwt.MapClaims{"role": "service_role", "exp": 1})
	for name, c := range map[string]struct {
		key, project, secret string
		want                 error
	}{
		"the service role's":            {apiKey(t, "service_role", "abcdefgh", secret), project, secret, nil},
		"without a secret to check it":  {apiKey(t, "service_role", "abcdefgh", secret), project, "", nil},
		"of a project at home":          {apiKey(t, "service_role", "", secret), "http://127.0.0.1:54321", secret, nil},
		"a secret key":                  {"sb_secret_0123456789", project, secret, nil},
		"the anon key":                  {apiKey(t, "anon", "abcdefgh", secret), project, secret, supacheckpoint.ErrAnonKey},
		"the anon key, with no secret":  {apiKey(t, "anon", "abcdefgh", secret), "", "", supacheckpoint.ErrAnonKey},
		"a publishable key":             {"sb_publishable_0123456789", project, secret, supacheckpoint.ErrAnonKey},
		"a user's token":                {sign(t, jwt.SigningMethodHS256, []byte(secret), "", claimsOf(nil)), project, secret, supacheckpoint.ErrKey},
		"of another project":            {apiKey(t, "service_role", "zyxwvuts", secret), project, "", supacheckpoint.ErrKey},
		"signed with another secret":    {apiKey(t, "service_role", "abcdefgh", secret+"!"), project, secret, supacheckpoint.ErrKey},
		"not signed":                    {unsigned(`{"alg":"none"}`, jwt.MapClaims{"role": "service_role"}), project, secret, supacheckpoint.ErrKey},
		"expired":                       {expired, project, secret, supacheckpoint.ErrKey},
		"no key at all":                 {"letmein-0123456789", project, secret, supacheckpoint.ErrKey},
		"the password of the database":  {"postgres://postgres:pa55word@db/postgres", project, secret, supacheckpoint.ErrKey},
		"a key that goes on and on":     {strings.Repeat("x", 1<<20), project, secret, supacheckpoint.ErrKey},
		"a role that is not a text":     {sign(t, jwt.SigningMethodHS256, []byte(secret), "", jwt.MapClaims{"role": 1}), project, secret, supacheckpoint.ErrKey},
		"the anon key of another place": {apiKey(t, "anon", "zyxwvuts", secret+"!"), project, secret, supacheckpoint.ErrAnonKey},
	} {
		err := supacheckpoint.CheckServiceKey(c.key, c.project, []byte(c.secret))
		assert.ErrorIs(t, err, c.want, name)
		if err != nil {
			assert.NotContains(t, err.Error(), c.key, name)
		}
	}
}

// environment has the names of all variables that FromEnv reads.
var environment = []string{
	"SUPABASE_DB_URL", "DATABASE_URL", "SUPABASE_URL", "SUPABASE_SERVICE_ROLE_KEY", "SUPABASE_KEY",
	"SUPABASE_JWT_SECRET", "SUPABASE_JWKS_URL", "NEXT_PUBLIC_SUPABASE_URL",
}

// setEnv sets the variables of environment, to the empty string where env has no value.
func setEnv(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range environment {
		t.Setenv(name, env[name])
	}
}

func TestFromEnvReadsOrRefusesTheVariables(t *testing.T) {
	p := directPlace(t)
	p.options.Checkpoint.Patience = time.Millisecond
	p.options.Retry.Max = -1
	service, anon := apiKey(t, "service_role", "abcdefgh", secret), apiKey(t, "anon", "abcdefgh", secret)
	for _, c := range []struct {
		name  string
		env   map[string]string
		users bool // VerifyJWT works
		want  error
		says  []string
	}{
		{"nothing", nil, false, supacheckpoint.ErrNotConfigured, []string{"SUPABASE_DB_URL", "SUPABASE_URL"}},
		{"a database", map[string]string{"SUPABASE_DB_URL": p.url}, false, nil, nil},
		{"a database under its other name", map[string]string{"DATABASE_URL": p.url}, false, nil, nil},
		{"both", map[string]string{"SUPABASE_DB_URL": p.url, "DATABASE_URL": "postgres://127.0.0.1:1/x"}, false, nil, nil},
		{"all", map[string]string{
			"SUPABASE_DB_URL": p.url, "SUPABASE_URL": project, "SUPABASE_SERVICE_ROLE_KEY": service, "SUPABASE_JWT_SECRET": secret,
		}, true, nil, nil},
		{"the key under its other name", map[string]string{
			"SUPABASE_DB_URL": p.url, "SUPABASE_URL": project + "/", "SUPABASE_KEY": "sb_secret_1", "SUPABASE_JWT_SECRET": secret,
		}, true, nil, nil},
		{"the front end's name of the project", map[string]string{
			"SUPABASE_DB_URL": p.url, "NEXT_PUBLIC_SUPABASE_URL": project, "SUPABASE_JWT_SECRET": secret,
		}, true, nil, nil},
		{"both names of the project", map[string]string{
			"SUPABASE_DB_URL": p.url, "SUPABASE_URL": project, "NEXT_PUBLIC_SUPABASE_URL": "https://zyxwvuts.supabase.co", "SUPABASE_JWT_SECRET": secret,
		}, true, nil, nil},
		{"the front end's name only", map[string]string{"NEXT_PUBLIC_SUPABASE_URL": project}, false, errAny, []string{"SUPABASE_DB_URL is not set"}},
		{
			"the front end's name of an invalid URL",
			map[string]string{"SUPABASE_DB_URL": p.url, "NEXT_PUBLIC_SUPABASE_URL": "abcdefgh"},
			false, checkpoint.ErrInvalid,
			[]string{"NEXT_PUBLIC_SUPABASE_URL"},
		},
		{"no database", map[string]string{"SUPABASE_URL": project, "SUPABASE_KEY": service}, false, errAny, []string{"SUPABASE_DB_URL is not set"}},
		{"a key only", map[string]string{"SUPABASE_KEY": service}, false, errAny, []string{"SUPABASE_DB_URL is not set"}},
		{
			"the anon key",
			map[string]string{"SUPABASE_DB_URL": p.url, "SUPABASE_URL": project, "SUPABASE_KEY": anon},
			false, supacheckpoint.ErrAnonKey,
			[]string{"SUPABASE_KEY", "anon key"},
		},
		{
			"the anon key in the place of the service role's",
			map[string]string{"SUPABASE_DB_URL": p.url, "SUPABASE_SERVICE_ROLE_KEY": anon, "SUPABASE_KEY": service},
			false, supacheckpoint.ErrAnonKey,
			[]string{"SUPABASE_SERVICE_ROLE_KEY", "anon key"},
		},
		{
			"another project's key",
			map[string]string{"SUPABASE_DB_URL": p.url, "SUPABASE_URL": "https://zyxwvuts.supabase.co", "SUPABASE_KEY": service},
			false, supacheckpoint.ErrKey,
			[]string{"SUPABASE_KEY", "abcdefgh"},
		},
		{"an invalid URL", map[string]string{"SUPABASE_DB_URL": p.url, "SUPABASE_URL": "abcdefgh"}, false, checkpoint.ErrInvalid, []string{"SUPABASE_URL"}},
		{
			"a secret that is short",
			map[string]string{"SUPABASE_DB_URL": p.url, "SUPABASE_URL": project, "SUPABASE_JWT_SECRET": "pa55word"},
			false, checkpoint.ErrInvalid,
			[]string{"SUPABASE_JWT_SECRET"},
		},
		{
			"a database that is not there",
			map[string]string{"SUPABASE_DB_URL": "postgres://ann:pa55word@127.0.0.1:1/x?connect_timeout=1"},
			false, errAny,
			[]string{"SUPABASE_DB_URL", "127.0.0.1"},
		},
		{"an invalid database URL", map[string]string{"DATABASE_URL": "postgres://ann:pa55word@127.0.0.1:port/x"}, false, errAny, []string{"DATABASE_URL"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			setEnv(t, c.env)
			store, err := supacheckpoint.FromEnv(t.Context(), p.options)
			if err == nil {
				defer store.Close()
			}
			if errors.Is(c.want, errAny) {
				require.Error(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
			for _, text := range c.says {
				assert.ErrorContains(t, err, text)
			}
			if err != nil {
				wantNoSecrets(t, err.Error(), service, anon, secret, "pa55word")
				return
			}
			putAll(t, as(t, store, newUser()), "plan", 1)
			u, err := store.VerifyJWT(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), "", claimsOf(nil)))
			if c.users {
				assert.NoError(t, err)
				assert.Equal(t, ann, u.ID)
			} else {
				assert.ErrorIs(t, err, supacheckpoint.ErrNotConfigured)
			}
		})
	}
}

// errAny is the wanted error of a test case in which any error is right.
var errAny = errors.New("any error")

func wantNoSecrets(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		assert.NotContains(t, text, s)
	}
}
