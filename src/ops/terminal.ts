// The log for reading at a terminal: aligned, coloured, one line per event. Escapes untrusted values such as user names, so
// that they cannot move the cursor or forge a line.
import { styleText } from 'node:util'
import { visible } from '../base/text/control-characters.ts'

/** Colours a string; returns it unchanged if NO_COLOR is set. */
export type Paint = (style: Style, text: string) => string

/** A terminal style. */
type Style = 'bold' | 'dim' | 'cyan' | 'green' | 'yellow' | 'red' | 'magenta'

/** Colours if standard output and the variables NO_COLOR and FORCE_COLOR allow it. */
export const paintTerminal: Paint = (style, text) => styleText(style, text, { stream: process.stdout })

/** Formats JSON lines of the log for a terminal. Other lines are unchanged except for escapes. */
export function readableLines(lines: string, paint: Paint): string {
  return lines
    .split('\n')
    .map(line => (line === '' ? '' : readableLine(line, paint)))
    .join('\n')
}

const LEVELS: Readonly<Record<number, readonly [style: Style, name: string]>> = {
  30: ['green', 'info '],
  40: ['yellow', 'warn '],
  50: ['red', 'error'],
}
const AUDIT = ['magenta', 'audit'] as const

function readableLine(line: string, paint: Paint): string {
  const event = parsed(line)
  if (event === undefined) return visible(line)
  const { level, time, msg, log, err, type: _type, ...facts } = event
  const [style, name] = (log === 'audit' ? AUDIT : LEVELS[Number(level)]) ?? LEVELS[30] ?? AUDIT
  const clock = String(time).slice(11, 19)
  const details = Object.entries(facts).map(([key, value]) => ` ${paint('dim', `${key}=`)}${visible(textOf(value))}`)
  const first = `${paint('dim', `${clock}Z`)} ${paint(style, name)} ${visible(String(msg))}${details.join('')}`
  return [first, ...stackOf(err).map(part => paint('dim', `                ${visible(part.trim())}`))].join('\n')
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value)

function stackOf(error: unknown): readonly string[] {
  if (typeof error !== 'object' || error === null) return []
  const text = 'stack' in error ? error.stack : 'message' in error ? error.message : undefined
  return typeof text === 'string' ? text.split('\n') : [JSON.stringify(error)]
}
