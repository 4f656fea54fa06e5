#!/bin/bash
# Makes an environment for AIMET and names its Python: source aimet_env_setup.sh --env_path FOLDER
# Sourced, it leaves AIMET_ENV_PYTHON in the shell; run, it says what to export.
_aimet_setup() {
    local folder=""
    while [ "$#" -gt 0 ]; do
        case "$1" in
            --env_path) folder="${2:-}"; shift ;;
            -h | --help)
                echo "usage: source aimet_env_setup.sh --env_path FOLDER"
                echo
                echo "  --env_path FOLDER   where the environment is made, or is already"
                return 0 ;;
            *) echo "error[usage]: option '$1' is unknown, expected --env_path" >&2; return 2 ;;
        esac
        shift
    done
    if [ -z "$folder" ]; then
        echo "error[usage]: --env_path is missing" >&2
        return 2
    fi
    if [ ! -x "$folder/bin/python" ]; then
        python3 -m venv "$folder" || return 6
    fi
    if ! "$folder/bin/python" -c "import aimet_onnx" > /dev/null 2>&1; then
        "$folder/bin/python" -m pip install --quiet "aimet-onnx>=1.32" || return 6
    fi
    export AIMET_ENV_PYTHON="$folder/bin/python"
    echo "export AIMET_ENV_PYTHON=$AIMET_ENV_PYTHON"
}
_aimet_setup "$@"
_aimet_code=$?
unset -f _aimet_setup
# A script that is sourced must return: exit would close the shell.
if [ "${BASH_SOURCE[0]}" != "$0" ]; then
    return $_aimet_code
fi
exit $_aimet_code
