# Sets the environment for the tools of this tree: & bin\envsetup.ps1
$env:QNN_SDK_ROOT = (Resolve-Path (Join-Path $PSScriptRoot "..")).Path

function Add-Front([string]$Variable, [string]$Folder) {
    $old = [Environment]::GetEnvironmentVariable($Variable)
    $parts = @()
    if ($old) { $parts = $old -split [IO.Path]::PathSeparator }
    if ($parts -notcontains $Folder) {
        $all = @($Folder) + $parts
        [Environment]::SetEnvironmentVariable($Variable, ($all -join [IO.Path]::PathSeparator))
    }
}

Add-Front "PATH" (Join-Path $env:QNN_SDK_ROOT "bin")
Add-Front "PATH" (Join-Path $env:QNN_SDK_ROOT "bin\x86_64-windows-msvc")
Add-Front "PYTHONPATH" (Join-Path $env:QNN_SDK_ROOT "lib\python")
Write-Host "[INFO] QNN_SDK_ROOT=$env:QNN_SDK_ROOT"
