// Splits a filter into tokens: words, values, brackets. Refuses anything else.

/** The dialect: UAA's, which is that of SCIM 1.x, or SCIM 2.0's (RFC 7644 §3.4.2.2). */
export type FilterDialect = 'uaa' | 'scim'

/** Thrown for a filter that is malformed, too large, or unsupported; the message says what is wrong. */
export class InvalidFilter extends Error {
  override name = 'InvalidFilter'
}

/** Thrown for attributes that nothing can be sorted by; UAA refuses these as it refuses filters. */
export class InvalidOrder extends InvalidFilter {
  override name = 'InvalidOrder'
}

/** A piece of the text; a string has its quotes and escapes resolved already. */
export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly at: number }
  | { readonly kind: 'value'; readonly value: string | number; readonly at: number }
  /** `.value` directly behind a bracket; the text is without the dot. */
  | { readonly kind: 'member'; readonly text: string; readonly at: number }
  | { readonly kind: '(' | ')' | '[' | ']' | 'end'; readonly at: number }

const BLANKS = /[ \t\r\n]*/y
const BRACKETS = { uaa: /[()]/y, scim: /[()[\]]/y } as const
// RFC 7644 §3.10: the name of a schema, a URN, and a colon may stand before that of an attribute.
const WORDS = { uaa: /[A-Za-z$_][\w$.-]*/y, scim: /[A-Za-z$_][\w$.:-]*/y } as const
const MEMBER = /\.[A-Za-z$][\w$-]*/y
// RFC 8259 §6 and §7; what may stand between single quotes is the same, with the quotes exchanged.
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const DOUBLE_QUOTED = /"(?:[^"\\]|\\[^])*"/y
const SINGLE_QUOTED = /'(?:[^'\\]|\\[^])*'/y

/** Each expression is tried once per token and cannot match in two ways, so the cost is linear. */
export function readTokens(text: string, dialect: FilterDialect): Token[] {
  const tokens: Token[] = []
  let at = 0
  const take = (expression: RegExp): string | undefined => {
    expression.lastIndex = at
    const found = expression.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  for (take(BLANKS); at < text.length; take(BLANKS)) {
    const token = readToken({ first: text.charAt(at), at, take, dialect, before: tokens.at(-1) })
    if (needsBlank(token, tokens.at(-1)) && !/[ \t\r\n]/.test(text.charAt(token.at - 1))) {
      throw new InvalidFilter(`a space is missing at ${token.at + 1}`)
    }
    tokens.push(token)
  }
  return tokens
}

/** Before a value (RFC 7644 §3.4.2.2, `attrExp`) and after it: `eq"a"`, `1and`, `"a"b` and `'a''b'` match as two tokens. */
const needsBlank = (token: Token, before: Token | undefined): boolean =>
  before !== undefined &&
  (token.kind === 'value' || (before.kind === 'value' && token.kind !== ')' && token.kind !== ']'))

interface Place {
  readonly first: string
  readonly at: number
  readonly take: (expression: RegExp) => string | undefined
  readonly dialect: FilterDialect
  readonly before: Token | undefined
}

function readToken({ first, at, take, dialect, before }: Place): Token {
  const bracket = take(BRACKETS[dialect])
  if (bracket !== undefined) return { kind: bracket as '(' | ')' | '[' | ']', at } // what the expression matches
  const member = before?.kind === ']' && before.at === at - 1 ? take(MEMBER) : undefined
  if (member !== undefined) return { kind: 'member', text: member.slice(1), at }
  const word = take(WORDS[dialect])
  if (word !== undefined) return { kind: 'word', text: word, at }
  const number = take(NUMBER)
  if (number !== undefined) return { kind: 'value', value: numberOf(number, at), at }
  const double = take(DOUBLE_QUOTED)
  if (double !== undefined) return { kind: 'value', value: stringOf(double, at), at }
  const single = dialect === 'uaa' ? take(SINGLE_QUOTED) : undefined
  if (single !== undefined) return { kind: 'value', value: stringOf(requoted(single), at), at }
  if (first === '"' || first === "'") throw new InvalidFilter(`the string at ${at + 1} is not terminated`)
  throw new InvalidFilter(`unexpected character at ${at + 1}`)
}

function numberOf(text: string, at: number): number {
  const number = Number(text)
  if (!Number.isFinite(number)) throw new InvalidFilter(`the number at ${at + 1} is too large`)
  return number + 0 // there is no negative zero in a database
}

function stringOf(quoted: string, at: number): string {
  try {
    return String(JSON.parse(quoted))
  } catch (cause) {
    throw new InvalidFilter(`the string at ${at + 1} has a character or an escape that is not valid JSON`, { cause })
  }
}

/** From single quotes to double ones. */
const requoted = (single: string): string =>
  `"${single.slice(1, -1).replace(/\\[^]|"/g, found => (found === '"' ? '\\"' : found === "\\'" ? "'" : found))}"`
