//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// endGroup makes the end of a command's context also kill the processes that the command has started.
func endGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
