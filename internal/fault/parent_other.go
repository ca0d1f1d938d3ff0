//go:build unix && !linux

package fault

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}
