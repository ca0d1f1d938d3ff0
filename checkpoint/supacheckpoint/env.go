package supacheckpoint

import (
	"context"
	"fmt"
	"os"
)

// The environment that [FromEnv] reads.
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

// FromEnv opens the store of the project that the environment names, as [Open] does.
//
//   - SUPABASE_DB_URL, or else DATABASE_URL, is the database.
//   - SUPABASE_URL, or else NEXT_PUBLIC_SUPABASE_URL, as a front end has it, is the
//     project, whose users' tokens [Store.VerifyJWT] checks: with its public keys, which
//     SUPABASE_JWKS_URL may place elsewhere, and with SUPABASE_JWT_SECRET if it is set.
//   - SUPABASE_SERVICE_ROLE_KEY, or else SUPABASE_KEY, says that the program may act
//     for the service. One that is the anon key is an [ErrAnonKey].
//
// It returns [ErrNotConfigured] when none of them is set that names a project or a
// database: a program may go on without a store then. Any other error says that
// there is something to put right.
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
		return nil, fmt.Errorf("%s is not set: it is under Connect in the project's dashboard", envDatabase)
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

// firstSet returns the first of two variables that is set, and else the first with
// nothing in it.
func firstSet(name, other string) (string, string) {
	if os.Getenv(name) == "" && os.Getenv(other) != "" {
		name = other
	}
	return name, os.Getenv(name)
}
