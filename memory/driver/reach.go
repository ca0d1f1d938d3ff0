package driver

// A Reach says in which scopes to look. Tenants never mix.
type Reach struct {
	Scope Scope
	// AnyWorkspace, AnyUser and AnyAgent ignore that part of the scope. Do not set AnyUser for the
	// question of a user.
	AnyWorkspace, AnyUser, AnyAgent bool
	// Inherit looks also in wider scopes: from a scope with an agent also in the one without
	// an agent, and so for the user and the workspace.
	Inherit bool
}

// Only returns the reach of the scope alone.
func (s Scope) Only() Reach { return Reach{Scope: s} }

// Inherit returns the reach of the scope and of the wider scopes: see [Reach.Inherit].
func (s Scope) Inherit() Reach { return Reach{Scope: s, Inherit: true} }

// Within returns the reach of all scopes that are forgotten with s: a part of s that is empty means any, but
// for the tenant.
func (s Scope) Within() Reach {
	return Reach{Scope: s, AnyWorkspace: s.Workspace == "", AnyUser: s.User == "", AnyAgent: s.Agent == ""}
}

// Has reports whether the reach has a scope.
func (r *Reach) Has(s Scope) bool {
	fits := func(all bool, want, is string) bool { return all || want == is || r.Inherit && is == "" }
	return r.Scope.Tenant == s.Tenant && fits(r.AnyWorkspace, r.Scope.Workspace, s.Workspace) &&
		fits(r.AnyUser, r.Scope.User, s.User) && fits(r.AnyAgent, r.Scope.Agent, s.Agent)
}

// Wide reports whether the reach has more than one scope.
func (r *Reach) Wide() bool { return r.AnyWorkspace || r.AnyUser || r.AnyAgent || r.Inherit }
