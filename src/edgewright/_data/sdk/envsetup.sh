# Sets the environment for the tools of this tree: source bin/envsetup.sh
# It may be sourced again: nothing is added twice. It works in bash and zsh.
if [ -n "${BASH_SOURCE:-}" ]; then
    _edgewright_script="${BASH_SOURCE[0]}"
elif [ -n "${ZSH_VERSION:-}" ]; then
    eval '_edgewright_script="${(%):-%x}"'
else
    _edgewright_script="$0"
fi
QNN_SDK_ROOT="$(cd "$(dirname "$_edgewright_script")/.." && pwd)"
export QNN_SDK_ROOT

_edgewright_prepend() {
    # $1: a variable, $2: a folder that goes to its front
    eval "_edgewright_old=\"\${$1:-}\""
    case ":$_edgewright_old:" in
        *":$2:"*) ;;
        *) eval "export $1=\"$2\${_edgewright_old:+:\$_edgewright_old}\"" ;;
    esac
}

_edgewright_prepend PATH "$QNN_SDK_ROOT/bin"
_edgewright_prepend PATH "$QNN_SDK_ROOT/bin/x86_64-linux-clang"
_edgewright_prepend LD_LIBRARY_PATH "$QNN_SDK_ROOT/lib/x86_64-linux-clang"
_edgewright_prepend PYTHONPATH "$QNN_SDK_ROOT/lib/python"
unset -f _edgewright_prepend
unset _edgewright_old _edgewright_script
echo "[INFO] QNN_SDK_ROOT=$QNN_SDK_ROOT"
