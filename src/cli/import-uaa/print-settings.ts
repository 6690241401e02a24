import { stringify } from 'yaml'
import { visible } from '../../base/text/control-characters.ts'
import { parseFile } from '../../config/file.ts'
import { ConfigError, createProblems } from '../../config/problems.ts'
import { flatSettings, translateSettings } from '../../config/uaa/uaa-settings.ts'
import type { SettingOutcome, Translation } from '../../config/uaa/uaa-settings.ts'

/**
 * Prints the configuration translated from the files of a UAA, of which later ones take precedence, and on standard error
 * the outcome of each setting. The exit status is 1 if an operator must make a decision.
 */
export async function printSettings(files: string): Promise<number> {
  const problems = createProblems()
  const parsed: unknown[] = []
  for (const file of files.split(',')) parsed.push(await parseFile(file, problems))
  if (problems.list.length > 0) throw new ConfigError(problems.list)
  const translation = translationOf(files, parsed)
  process.stdout.write(`${HEAD}${stringify(translation.config)}`)
  process.stderr.write(reportOf(translation.outcomes))
  return translation.outcomes.some(({ outcome }) => outcome === 'manual') ? 1 : 0
}

const HEAD = `# Translated from the configuration of a UAA by latchkey import-uaa --settings. Add what README.md, "Run it for real" has of
# database and master_key_file, and check it: latchkey check-config --config FILE
`

function translationOf(files: string, parsed: readonly unknown[]): Translation {
  try {
    return translateSettings(flatSettings(parsed))
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new ConfigError([{ key: files, message: cause.message }])
  }
}

/** Translated settings share a line for each source; each of the others has its own, with the reason. */
function reportOf(outcomes: readonly SettingOutcome[]): string {
  const keysOf = (wanted: SettingOutcome['outcome']): string =>
    outcomes.flatMap(({ key, outcome }) => (outcome === wanted ? [shown(key)] : [])).join(', ')
  const lines = [
    ['translated', keysOf('translated')],
    ["with UAA's database", keysOf('imported')],
    ...outcomes.flatMap(({ key, outcome, why }) =>
      outcome === 'unused' ? [['not needed', `${shown(key)}: ${why}`]] : [],
    ),
    ...outcomes.flatMap(({ key, outcome, why }) => (outcome === 'manual' ? [['manual', `${shown(key)}: ${why}`]] : [])),
  ]
  return lines.flatMap(([head, text]) => (text === '' ? [] : [`${head}: ${text}\n`])).join('')
}

/** A key of the file, escaped so that it cannot control the terminal. */
const shown = (key: string): string => visible(key).slice(0, 200)
