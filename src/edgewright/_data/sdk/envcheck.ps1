# Says whether this machine can compile model libraries: & bin\envcheck.ps1 [-m]
param([switch]$m, [switch]$n, [switch]$c)
$words = @()
if ($m) { $words += "-m" }
if ($n) { $words += "-n" }
if ($c) { $words += "-c" }
& (Join-Path $PSScriptRoot "x86_64-windows-msvc\envcheck.cmd") @words
exit $LASTEXITCODE
