# Prints each command of a script in place of executing it, one a line, with \x1f between the arguments. The script is $1.
# bash expands the arguments, and executes its own commands; it finds no program, because PATH names no folder.
exec 3>&1 >/dev/null
PATH=/nonexistent TIMEFORMAT=
record() {
	local IFS=$'\x1f' line
	line="$*"
	printf '%s\n' "${line//$'\n'/ }" >&3
}
cd() { :; }
command_not_found_handle() {
	case $1 in
	bash) eval "$3" ;; # bash -c "commands"
	jq) record "$@"; printf '11111111-1111-4111-8111-111111111111\n' ;;
	*) record "$@" ;;
	esac
}
eval "$1"
wait
