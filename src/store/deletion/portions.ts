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
