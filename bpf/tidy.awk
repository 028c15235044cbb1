# Makes assembly of the Rust compiler fit for the kernel's loader; -v prefix=incast_oscar_ -v "alone=div_wide mul_div".
#   * Each function lies in a section of its own: they go into .text, where programs look for functions that
#     they call. Constants go into .rodata.
#   * A function's name in the type information is that in the source, without the prefix of its symbol: the
#     prefix goes.
#   * A move of 32 bits into 64 is written with the name of the whole register, which older assemblers do not read;
#     the instruction is that of 32 bits, which clears the others.
#   * Functions that C calls become hidden: the verifier then follows the calls with what is known of the
#     arguments, instead of verifying each function for any.
#   * Those that are named in `alone` become global, with the last part of their name: the verifier looks at each once,
#     for any arguments.

BEGIN { split(alone, names, " ") }

/^[ \t]*\.section[ \t]+\.text\./ { print "\t.text"; next }
/^[ \t]*\.section[ \t]+\.rodata/ { print "\t.section\t.rodata,\"a\",@progbits"; next }
/^[ \t]*\.section[ \t]/ { types = $2 ~ /^\.BTF/ }
!types {
    gsub(prefix, "")
    for (i in names) {
        symbol = "_RN[0-9A-Za-z_]*[0-9]" names[i]
        while (index($0, names[i]) && match($0, symbol "([^0-9A-Za-z_]|$)")) {
            if (/^[ \t]*\.type[ \t]/) print "\t.globl\t" names[i]
            sub(symbol, names[i])
        }
    }
}
/^[ \t]*r[0-9]+ = w[0-9]+$/ { sub(/r/, "w") }
/^[ \t]*\.globl[ \t]/ { print; print "\t.hidden\t" $2; next }
{ print }
