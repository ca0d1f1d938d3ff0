package supacheckpoint

import (
	"context"
	"fmt"
	"os"
)

// The environment variables that [FromEnv] reads.
const (
	envDatabase   = "SUPABASE_DB_URL"
	envDatabase2  = "DATABASE_URL"
	envURL        = "SUPABASE_URL"
	envURL2       = "NEXT_PUBLIC_SUPABASE_URL"
	envServiceKey = "SUPABASE_SERVICE_ROLE_KEY"
	envKey        = "SUPABASE_KEY"
	envSecret     = "SUPABASE_JWT_SECRET"
	envJWKS       = "SUPABASE_JWKS_URL"
)

// FromEnv opens the store of the project in the environment variables, as [Open] does.
//
//   - SUPABASE_DB_URL, or else DATABASE_URL, is the URL of the database.
//   - SUPABASE_URL, or else NEXT_PUBLIC_SUPABASE_URL, is the URL of the project.
//     [Store.VerifyJWT] checks the tokens of its users with its public keys, and with
//     SUPABASE_JWT_SECRET if that is set. SUPABASE_JWKS_URL overrides the URL of the
//     keys.
//   - SUPABASE_SERVICE_ROLE_KEY, or else SUPABASE_KEY, is optional. If it is set,
//     FromEnv checks it: the anon key is an [ErrAnonKey].
//
// FromEnv returns [ErrNotConfigured] if no variable for a database, project or key is set.
// A program can then run without a store. Any other error reports a wrong setting or a
// failed connection.
func FromEnv(ctx context.Context, o Options) (*Store, error) {
	s, err := fromEnv(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: from the environment: %w", err)
	}
	return s, nil
}

func fromEnv(ctx context.Context, o Options) (*Store, error) {
	databaseName, database := firstSet(envDatabase, envDatabase2)
	keyName, key := firstSet(envServiceKey, envKey)
	projectName, project := firstSet(envURL, envURL2)
	secret := []byte(os.Getenv(envSecret))
	if database == "" {
		if project == "" && key == "" {
			return nil, fmt.Errorf("neither %s nor %s is set: %w", envDatabase, envURL, ErrNotConfigured)
		}
		return nil, fmt.Errorf("%s is not set; copy it from Connect in the dashboard of the project", envDatabase)
	}
	if key != "" {
		if err := checkServiceKey(key, project, secret); err != nil {
			return nil, fmt.Errorf("%s: %w", keyName, err)
		}
	}
	if o.Verifier == nil && project != "" {
		var err error
		o.Verifier, err = NewVerifier(VerifierOptions{URL: project, Secret: secret, JWKS: os.Getenv(envJWKS)})
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", projectName, envSecret, err)
		}
	}
	s, err := open(ctx, database, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", databaseName, err)
	}
	return s, nil
}

// firstSet returns the name and the value of the first of two variables that is set. If neither
// is set, it returns the first name and "".
func firstSet(name, other string) (string, string) {
	if os.Getenv(name) == "" && os.Getenv(other) != "" {
		name = other
	}
	return name, os.Getenv(name)
}
