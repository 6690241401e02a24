import type { Database, Statement } from '../database.ts'

/** Rows of a portion: a few milliseconds of work, for which every other write waits on SQLite. */
export const ROWS_AT_ONCE = 200

/** Runs a statement that changes at most `ROWS_AT_ONCE` rows until it finds no more. */
export async function writeInPortions<Args extends object>(
  db: Pick<Database, 'write'>,
  changeSome: Statement<Args, unknown>,
  args: Args,
): Promise<void> {
  while ((await db.write(changeSome, args)).changes === ROWS_AT_ONCE);
}

/** The parameters of so many ids, in SQL. */
export const parametersFor = (count: number): string =>
  namesFor(count)
    .map(name => `:${name}`)
    .join(', ')
const namesFor = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `id_${index}`)

/** Arguments of a statement with ids. */
export type Chosen = Readonly<Record<string, string>>

/** The arguments of statements with `count` ids; missing ones are empty strings, which match no id. */
export const chosen = (zoneId: string, count: number, ids: readonly string[]): Chosen => ({
  zone_id: zoneId,
  ...Object.fromEntries(namesFor(count).map((name, index) => [name, ids[index] ?? ''])),
})
