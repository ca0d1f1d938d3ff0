package fault

import "syscall"

// dieWithParent ends a process when this one is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
