# Says which tools for compiling are missing on Windows; nothing is installed.
$missing = 0
foreach ($tool in @("cl", "cmake", "python")) {
    if (Get-Command $tool -ErrorAction SilentlyContinue) {
        Write-Host "[INFO] found $tool"
    } else {
        Write-Host "[WARNING] $tool is missing"
        $missing += 1
    }
}
if ($missing) {
    Write-Host "[INFO] install Visual Studio 2022 with the C++ and CMake tools, then open its Developer PowerShell"
    exit 1
}
Write-Host "[INFO] everything that model libraries need is here"
