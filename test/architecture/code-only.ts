// Finds the code in TypeScript source, without a parser.

const REGEX_MAY_FOLLOW =
  /(?:^|[(,=:[!&|?{};+\-*%~^<>]|(?<![.\w$])(?:return|typeof|case|in|of|do|else|void|await|yield|throw|delete|new))\s*$/

/** Text that begins no comment, string, template, regular expression or block. */
const PLAIN = /[^/'"`{}]+/y

/**
 * The text with comments and the contents of strings, templates and regular expressions replaced by blanks. Lines, quotes
 * and offsets stay where they are, and so does the code inside `${}`.
 */
export function codeOnly(text: string): string {
  let code = ''
  let position = 0
  const braces: number[] = [] // one count of open braces for each `${` that is open
  const blank = (part: string): void => {
    code += part.replace(/[^\n]/g, ' ')
    position += part.length
  }
  const keep = (count: number): void => {
    code += text.slice(position, position + count)
    position += count
  }
  const skip = (pattern: RegExp): void => {
    pattern.lastIndex = position
    blank(pattern.exec(text)?.[0] ?? '')
  }
  const template = (): void => {
    skip(/(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y)
    if (text[position] === '`') keep(1)
    else if (position < text.length) {
      keep(2)
      braces.push(0)
    }
  }

  while (position < text.length) {
    const character = text[position] ?? ''
    const next = text[position + 1]
    if (character === '/' && next === '/') skip(/[^\n]*/y)
    else if (character === '/' && next === '*') skip(/\/\*[\s\S]*?(?:\*\/|$)/y)
    else if (character === "'" || character === '"') {
      keep(1)
      skip(character === "'" ? /(?:[^'\\\n]|\\[\s\S])*/y : /(?:[^"\\\n]|\\[\s\S])*/y)
      if (text[position] === character) keep(1)
    } else if (character === '`') {
      keep(1)
      template()
    } else if (character === '/' && REGEX_MAY_FOLLOW.test(code.slice(-200))) {
      keep(1)
      skip(/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])*/y)
      if (text[position] === '/') keep(1)
    } else if (character === '{' && braces.length > 0) {
      braces.push((braces.pop() ?? 0) + 1)
      keep(1)
    } else if (character === '}' && braces.length > 0) {
      const open = braces.pop() ?? 0
      keep(1)
      if (open === 0) template()
      else braces.push(open - 1)
    } else {
      PLAIN.lastIndex = position
      keep(PLAIN.exec(text)?.[0].length ?? 1)
    }
  }
  return code
}
