# SPDX-License-Identifier: MIT OR Apache-2.0
keep() {
	local text=$1
	eval "kept$2=\$text"
}
n=0
while read -r first rest; do
	n=$((n + 1))
	[ $n -gt 1500 ] && break
	keep "$first and $rest" $n
done < "$1"
all=$(cat "$1")
for word in $all; do
	last=$word
done
echo $n ${#all} "$last"
