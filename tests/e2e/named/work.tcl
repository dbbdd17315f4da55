# SPDX-License-Identifier: MIT OR Apache-2.0
proc parse {lines} {
    foreach line [split $lines "\n"] {
        set words [split $line " "]
        lappend ::rows $words
        dict set ::first [lindex $words 0] $line
        set ::table([lindex $words 2]) $words
    }
}
set file [open [lindex $argv 0]]
parse [read $file]
close $file
puts [llength [lsort $::rows]]
puts [string length [join $::rows ,]]
