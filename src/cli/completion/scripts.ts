/** Completion scripts with all words in them: completing starts the program only for ids that the server knows. */
import { type CommandWords, TYPED } from './command-words.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, program: string, commands: readonly CommandWords[]): string {
  return SCRIPTS[shell](program, commands);
}

const SCRIPTS = { bash, zsh, fish } as const satisfies Record<Shell, typeof bash>;

const nameOf = (program: string): string => `_${program.replace(/[^A-Za-z0-9]/g, '_')}_completion`;
/** The key of `op show` is "/op/show", that of the program is "". */
const keyOf = (path: readonly string[]): string => path.map((word) => `/${word}`).join('');
const single = (text: string): string => `'${text.replace(/'/g, `'\\''`)}'`;

function words({ subcommands, values }: CommandWords): string {
  return [...subcommands.map(({ name }) => name), ...values].join(' ');
}

const flagsOf = ({ options }: CommandWords): string => options.flatMap(({ flags }) => flags).join(' ');

/** The call that lists values, in double quotes where it has what was typed. */
function listing(program: string, call: string, typed: string): string {
  const words = call
    .split(' ')
    .map((word) => (word.includes(TYPED) ? `"${word.replace(TYPED, typed)}"` : word));
  return `${program} ${words.join(' ')} 2>/dev/null`;
}

/** For each option with a value: its choices, empty for free text. Those that the server knows are asked for. */
function valueCases(program: string, commands: readonly CommandWords[]): string[] {
  return commands.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, choices, listedBy }) => {
        const listed =
          listedBy === undefined ? single(choices.join(' ')) : `"$(${listing(program, listedBy, '$3')})"`;
        const pattern = flags.map((flag) => single(`${keyOf(path)} ${flag}`)).join('|');
        return `    ${pattern}) choices=${listed}; return 0 ;;`;
      }),
  );
}

/** For each command whose argument the server knows: the call that lists its values. A server that does not respond has none. */
function listCases(program: string, commands: readonly CommandWords[]): string[] {
  return commands
    .filter(({ listedBy }) => listedBy !== undefined)
    .map(({ path, listedBy = '' }) => `    ${single(keyOf(path))}) ${listing(program, listedBy, '$2')} ;;`);
}

/** Shared by bash and zsh: the tables, and the command that the line has reached. */
function tables(program: string, commands: readonly CommandWords[]): string {
  const name = nameOf(program);
  const paths = commands.filter(({ path }) => path.length > 0).map(({ path }) => single(keyOf(path)));
  return `${name}_value() {
  choices=''
  case "$1 $2" in
${valueCases(program, commands).join('\n')}
  esac
  return 1
}

${name}_words() {
  case "$1" in
${commands.map((command) => `    ${single(keyOf(command.path))}) words=${single(words(command))} flags=${single(flagsOf(command))} ;;`).join('\n')}
  esac
}

${name}_list() {
  case "$1" in
${listCases(program, commands).join('\n')}
  esac
}

${name}_is_command() {
  case "$1" in
    ${paths.join('|')}) return 0 ;;
  esac
  return 1
}`;
}

/**
 * A filter without quotes arrives as several words: bash breaks them at = and :. Only in quotes may it have spaces. A label is a term
 * of a filter without its field.
 */
function bashFilter(program: string): string {
  return `${nameOf(program)}_filter() {
  local i word filter='' offered label=''
  for ((i = COMP_CWORD; i > 0; i--)); do
    word="\${COMP_WORDS[i]}"
    if [[ "$word" == '--filter' ]]; then break; fi
    if [[ "$word" == '--label' || "$word" == '-l' ]]; then label='labels.'; break; fi
    if [[ "$word" == -* || i -le COMP_CWORD-8 ]]; then return 1; fi
    filter="$word$filter"
  done
  if ((i == 0)); then return 1; fi
  filter="\${filter#=}"
  local cur="\${COMP_WORDS[COMP_CWORD]}"
  if [[ "$cur" == '=' || "$cur" == ':' ]]; then cur=''; fi
  local bare="$filter"
  case "$filter" in \\'*|\\"*) bare="\${filter:1}" ;; esac
  while IFS='' read -r offered; do
    if [[ -n "$label" && "$offered" == *'*' ]]; then continue; fi
    offered="\${offered#"$label"}"
    if [[ "$bare" != "$filter" ]]; then COMPREPLY+=("$offered")
    elif [[ "$offered" != *' '* ]]; then COMPREPLY+=("\${offered#"\${filter%"$cur"}"}")
    fi
  done < <(${program} suggest "$label$bare" 2>/dev/null)
  compopt -o nospace 2>/dev/null
  return 0
}`;
}

function bash(program: string, commands: readonly CommandWords[]): string {
  const name = nameOf(program);
  return `# bash completion for ${program}; load it with: source <(${program} completion bash)
${tables(program, commands)}

${bashFilter(program)}

${name}() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at='' words='' flags='' choices='' i
  # --output=js arrives as three words
  if [[ "$cur" == '=' ]]; then cur=''; elif [[ "$prev" == '=' ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if ${name}_is_command "$at/\${COMP_WORDS[i]}"; then at="$at/\${COMP_WORDS[i]}"; fi
  done
  COMPREPLY=()
  if ${name}_filter; then return 0; fi
  if ${name}_value "$at" "$prev" "$cur"; then
    # --columns a,b: the last of them is completed
    if [[ -n "$choices" && "$cur" == *,* ]]; then COMPREPLY=($(compgen -P "\${cur%,*}," -W "$choices" -- "\${cur##*,}"))
    else COMPREPLY=($(compgen -W "$choices" -- "$cur"))
    fi
    [[ -n "$choices" ]] || compopt -o default 2>/dev/null
    return 0
  fi
  ${name}_words "$at"
  if [[ "$cur" == -* ]]; then words="$flags"; else words="$words $(${name}_list "$at" "$cur")"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F ${name} ${program}
`;
}

function zsh(program: string, commands: readonly CommandWords[]): string {
  const name = nameOf(program);
  return `#compdef ${program}
# zsh completion for ${program}; load it with: source <(${program} completion zsh)
${tables(program, commands)}

${name}() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}" at='' flags='' choices='' i
  local -a line
  line=("\${words[@]}")
  local words=''
  for ((i = 2; i < CURRENT; i++)); do
    if ${name}_is_command "$at/\${line[i]}"; then at="$at/\${line[i]}"; fi
  done
  if [[ "$cur" == --*=* ]]; then
    prev="\${cur%%=*}"
    compset -P '*='
  fi
  local label='' typed="\${(Q)cur}"
  case "$prev" in -l|--label) label='labels.' ;; esac
  if [[ "$prev" == '--filter' || -n "$label" ]]; then
    local -a offered
    offered=("\${(@f)$(${program} suggest "$label$typed" 2>/dev/null)}")
    compadd -S '' -- "\${offered[@]#$label}"
    return 0
  fi
  if ${name}_value "$at" "$prev" "$cur"; then
    if [[ -n "$choices" ]]; then compset -P '*,'; compadd -- \${=choices}; else _files; fi
    return 0
  fi
  ${name}_words "$at"
  if [[ "$cur" == -* ]]; then compadd -- \${=flags}; else compadd -- \${=words} $(${name}_list "$at" "$cur"); fi
}
compdef ${name} ${program}
`;
}

const fishListing = (program: string, call: string): string =>
  `(${program} ${call.replace(TYPED, '(commandline -ct)').replace(')*', ')\\*')} 2>/dev/null)`;

function fish(program: string, commands: readonly CommandWords[]): string {
  const name = nameOf(program);
  const known = commands.filter(({ path }) => path.length > 0).map(({ path }) => single(keyOf(path)));
  const lines = commands.flatMap(({ path, subcommands, options, values, listedBy }) => {
    const start = `complete -c ${program} -n ${single(`${name}_at ${single(keyOf(path))}`)}`;
    return [
      ...subcommands.map((sub) => `${start} -a ${single(sub.name)} -d ${single(sub.description)}`),
      ...values.map((value) => `${start} -a ${single(value)}`),
      ...(listedBy === undefined ? [] : [`${start} -a ${single(fishListing(program, listedBy))}`]),
      ...options.map(({ flags, takesValue, choices, listedBy, description }) => {
        const spelled = flags.map((flag) =>
          flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const live = flags.includes('--filter')
          ? `(${program} suggest (commandline -ct | string trim -c '"'') 2>/dev/null)`
          : flags.includes('--label')
            ? `(${program} suggest labels.(commandline -ct) 2>/dev/null | string replace labels. "")`
            : listedBy && fishListing(program, listedBy);
        const values = live ?? choices.join(' ');
        const value = takesValue ? ` -r${values === '' ? '' : ` -a ${single(values)}`}` : '';
        return `${start} ${spelled.join(' ')}${value} -d ${single(description)}`;
      }),
    ];
  });
  return `# fish completion for ${program}; load it with: ${program} completion fish | source
function ${name}_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$at/$word" ${known.join(' ')}
      set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c ${program} -f
${lines.join('\n')}
`;
}
