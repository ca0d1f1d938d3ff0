package driver

// A Reach selects the scopes of a query. It never spans tenants.
type Reach struct {
	Scope Scope
	// AnyWorkspace, AnyUser and AnyAgent select any workspace, user or agent, whatever the Scope has. Do not
	// set AnyUser for a user's request.
	AnyWorkspace, AnyUser, AnyAgent bool
	// Inherit includes wider scopes: for a scope with an agent, it also includes the scope without an agent.
	// The same applies to the user and the workspace.
	Inherit bool
}

// Only returns a reach that contains only this scope.
func (s Scope) Only() Reach { return Reach{Scope: s} }

// Inherit returns the reach of the scope and its wider scopes, see [Reach.Inherit].
func (s Scope) Inherit() Reach { return Reach{Scope: s, Inherit: true} }

// Within returns the reach of all scopes that Forget(s) covers: an empty part of s means any, except for
// the tenant.
func (s Scope) Within() Reach {
	return Reach{Scope: s, AnyWorkspace: s.Workspace == "", AnyUser: s.User == "", AnyAgent: s.Agent == ""}
}

// Has reports whether the reach contains a scope.
func (r *Reach) Has(s Scope) bool {
	fits := func(all bool, want, is string) bool { return all || want == is || r.Inherit && is == "" }
	return r.Scope.Tenant == s.Tenant && fits(r.AnyWorkspace, r.Scope.Workspace, s.Workspace) &&
		fits(r.AnyUser, r.Scope.User, s.User) && fits(r.AnyAgent, r.Scope.Agent, s.Agent)
}

// Wide reports whether the reach contains more than one scope.
func (r *Reach) Wide() bool { return r.AnyWorkspace || r.AnyUser || r.AnyAgent || r.Inherit }
