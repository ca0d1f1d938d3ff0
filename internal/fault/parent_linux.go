package fault

import "syscall"

// dieWithParent makes the kernel end the child process when this process is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
