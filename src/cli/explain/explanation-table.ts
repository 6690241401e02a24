// An explanation for a terminal of a hundred columns.
import type {
  ExplainedClaim,
  ExplainedRefusal,
  ExplainedScope,
  Explanation,
  Reason,
} from '../../oauth/explain/explanation.ts'

const WIDTH = 100

/** The lines. Characters that could move the cursor, or hide text, become question marks. */
export function explanationTable(explanation: Explanation): string {
  const { recorded, scopes, tokens, claims, refusals, outstanding, not_checked: unchecked } = explanation
  const { today, events = [] } = explanation
  const lines = [
    ...(recorded
      ? section(
          'Recorded',
          pairs({ ...recorded, refusal: undefined, ...(recorded.refusal && { data: undefined }), ...recorded.refusal }),
        )
      : []),
    ...section('Request', pairs(explanation.request)),
    ...(isPlanned(explanation) ? [explanation.decision.toUpperCase()] : []),
    ...refusals.flatMap(each => row(['  refused', each.error], refusalText(each))),
    ...outstanding.flatMap(each => row(['  outstanding'], withRule(each))),
    ...(isPlanned(explanation) ? [''] : []),
    ...section('Scopes', scopeRows(scopes)),
    ...section(
      'Tokens',
      tokens.flatMap(each => reasonRows([`  ${each.outcome}`, each.token], each.because)),
    ),
    ...section('Claims', claims.flatMap(claimRow)),
    ...(today ? section('A new token today', todayRows(today)) : []),
    ...section(
      'Events since it was issued',
      events.flatMap(each => row([`  ${each.number}`, each.type], `${each.time} ${each.data ?? ''}`)),
    ),
    ...section(
      'Not checked',
      unchecked.flatMap(each => row(['  -'], each)),
    ),
  ]
  return lines.map(line => `${line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?').trimEnd()}\n`).join('')
}

/** Not so for a recorded event without its request: the decision is then only how that event ended. */
const isPlanned = ({ recorded, request }: Explanation): boolean => !recorded || Object.keys(request).length > 0

const section = (title: string, rows: readonly string[]): readonly string[] =>
  rows.length === 0 ? [] : [title, ...rows, '']

const pairs = (facts: object): readonly string[] =>
  Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : row([`  ${name}`], typeof value === 'string' ? value : JSON.stringify(value)),
  )

const refusalText = ({ description, detail, rule }: ExplainedRefusal): string =>
  `${description}${/[.?!]$/.test(description) ? '' : '.'} ${detail} [${rule}]`

const withRule = ({ rule, detail }: Reason): string => `${detail} [${rule}]`

/** One line, or more, for each reason. */
const reasonRows = (cells: readonly string[], reasons: readonly Reason[]): readonly string[] =>
  reasons.length === 0
    ? row(cells, '')
    : reasons.flatMap((reason, index) => row(index === 0 ? cells : cells.map(() => ''), withRule(reason)))

function scopeRows(scopes: readonly ExplainedScope[]): readonly string[] {
  // There are many groups that are irrelevant to the client, and the same reason applies to each.
  const isForeign = ({ outcome, today, because }: ExplainedScope): boolean =>
    (outcome === 'removed' || (outcome === 'absent' && today === 'removed')) &&
    because.every(({ rule }) => rule === 'client-scope')
  const foreign = scopes.filter(isForeign).map(({ scope }) => scope)
  const rest = scopes.filter(each => !isForeign(each))
  return [
    ...rest.flatMap(({ scope, outcome, today, because }) => {
      const now = today === undefined || today === outcome ? '' : ` (today: ${today})`
      return reasonRows([`  ${outcome}`, `${scope}${now}`], because)
    }),
    ...(foreign.length === 0
      ? []
      : row(['  not given', ''], `${foreign.join(', ')}: the scope of the client does not have them. [client-scope]`)),
  ]
}

const MAX_VALUE = 36

function claimRow({ claim, token, outcome, value, because, today }: ExplainedClaim): readonly string[] {
  const valueText = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
  const shown = valueText.length > MAX_VALUE ? `${valueText.slice(0, MAX_VALUE - 1)}…` : valueText
  const now = today === undefined ? '' : ` Today: ${today === null ? 'none' : JSON.stringify(today)}.`
  const first = because[0]
  const text =
    outcome === 'absent' ? `absent: ${first ? withRule(first) : ''}` : `${shown && `${shown} `}(${first?.detail ?? ''})`
  return row([`  ${token}`, claim], text + now)
}

const todayRows = ({ decision, refusals, outstanding }: NonNullable<Explanation['today']>): readonly string[] => [
  `  ${decision}`,
  ...refusals.flatMap(each => row(['  refused', each.error], refusalText(each))),
  ...outstanding.flatMap(each => row(['  outstanding'], withRule(each))),
]

const COLUMNS = [16, 24]

/** Cells, and a text that is broken so that it stays in its column. */
function row(cells: readonly string[], text: string): readonly string[] {
  const head = cells.map((cell, index) => `${cell} `.padEnd((COLUMNS[index] ?? 0) + 1)).join('')
  const indent = Math.min(head.length, 60)
  const lines: string[] = []
  let line = head
  for (const word of text.split(' ')) {
    if (line.length + word.length > WIDTH && line.trim() !== '' && line.length > indent) {
      lines.push(line)
      line = ' '.repeat(indent)
    }
    line += `${word} `
  }
  return [...lines, line]
}
