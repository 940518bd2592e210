package completion

// bashWords replaces a function of cobra's script that needs the package bash-completion. Bash splits words at =
// and : too; this joins what is one word on the line.
const bashWords = `
# Where the package bash-completion is not loaded, the one function of it that is needed.
__PROGRAM_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local rest=$COMP_LINE stripped word last= i
    words=()
    cword=0
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]}
        stripped=${rest#"${rest%%[![:blank:]]*}"}
        if ((i > 0)) && [[ $stripped == "$rest" && ( $word == [=:]* || $last == [=:]* ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        last=$word
        rest=${stripped#"$word"}
        ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
    done
    cur=${words[cword]}
    prev=
    ((cword > 0)) && prev=${words[cword-1]}
    return 0
}
`

// bashQuotes replaces two functions of cobra's script that ignore quotes. A name such as test["linux"] must be
// quoted, in the way in which the word was begun.
const bashQuotes = `
# What a word that is being typed means: plain. Where it stands in quotes that are open, which and what was before them.
__PROGRAM_unquote()
{
    local text=$1 i c
    plain= open= before=
    for ((i = 0; i < ${#text}; i++)); do
        c=${text:i:1}
        if [[ $c == "$open" ]]; then
            open=
        elif [[ -z $open && ( $c == "'" || $c == '"' ) ]]; then
            open=$c
            before=$plain
        elif [[ $c == "\\" && $open != "'" && ( -z $open || ${text:i+1:1} == [\"\\\$] ) ]]; then
            i=$((i + 1))
            plain+=${text:i:1}
        else
            plain+=$c
        fi
    done
    [[ -n $open ]] || before=
}

# A word as it continues what was typed.
__PROGRAM_quote()
{
    local text=$1 i c
    if [[ -z $open ]]; then
        printf -v quoted %q "$text"
        return
    fi
    text=${text#"$before"}
    quoted=
    for ((i = 0; i < ${#text}; i++)); do
        c=${text:i:1}
        if [[ $open == "'" && $c == "'" ]]; then
            quoted+="'\\''"
        elif [[ $open == '"' && $c == [\"\\\$$'\x60'] ]]; then
            quoted+="\\$c"
        else
            quoted+=$c
        fi
    done
}

# The words before the last are read as the shell would; the last may have quotes that are open.
__PROGRAM_get_completion_results()
{
    local last=${words[${#words[@]}-1]} plain open before
    __PROGRAM_unquote "$last"
    printf -v last %q "$plain"
    if [[ $cur == -*=* ]]; then
        cur=${cur#*=}
    fi
    out=$(eval "${words[*]:0:1} __complete ${words[*]:1:${#words[@]}-2} $last" 2>/dev/null)
    directive=${out##*:}
    out=${out%:*}
    [[ $directive != "$out" ]] || directive=0
}

# Words with a description are shown where words are listed, and where each is typed as it is shown.
__PROGRAM_handle_completion_types()
{
    local tab=$'\t' plain open before word quoted longest=0 special= line
    local -a found=() typed=()
    __PROGRAM_unquote "$cur"
    for line in "${completions[@]}"; do
        word=${line%%$tab*}
        [[ -n $word && $word == "$plain"* ]] || continue
        __PROGRAM_quote "$word"
        found+=("$line")
        typed+=("$quoted")
        [[ $quoted == "$word" ]] || special=1
        ((${#word} > longest)) && longest=${#word}
    done
    if ((${#found[@]} <= 1)) || [[ $COMP_TYPE == 37 || $COMP_TYPE == 42 || ( -n $special && $COMP_TYPE != 63 ) ]]; then
        COMPREPLY=("${typed[@]}")
        return
    fi
    COMPREPLY=("${found[@]}")
    __PROGRAM_format_comp_descriptions $longest
}
`
