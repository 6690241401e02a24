// Asks the server for everything in a ledger, once the trouble is over.
import { setTimeout as pause } from 'node:timers/promises'
import { Unavailable, Broken, Violation } from './client.ts'
import type { RoundRobin } from './client.ts'
import { basicOf, PASSWORD } from './accounts.ts'
import type { Ledger, Person } from './ledger.ts'
import { assertWhole, authorization } from './operations.ts'

const AT_ONCE = 8
/** A busy machine causes errors of its own, so reads are repeated. */
const ATTEMPTS = 10

/** Returns differences from acknowledged states, and partial changes; empty if consistent. */
export async function compare(nodes: RoundRobin, ledger: Ledger): Promise<readonly string[]> {
  const wrong: string[] = []
  const { people, refreshTokens, opaqueTokens, sessions, doubtfulNames } = ledger
  const answer = await nodes.ask('/oauth/token', {
    form: { grant_type: 'client_credentials' },
    basic: basicOf('directory'),
  })
  const bearer = String(answer.json()['access_token'])

  async function each<T>(
    name: string,
    entries: Iterable<T>,
    check: (entry: T) => Promise<boolean | void>,
  ): Promise<void> {
    const left = [...entries].values()
    const work = async (): Promise<void> => {
      for (const entry of left) {
        try {
          if ((await retryWhileBusy(() => check(entry))) === false) wrong.push(name)
        } catch (error) {
          wrong.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  const isActive = async (token: string): Promise<boolean> =>
    (await nodes.ask('/introspect', { form: { token }, basic: basicOf('resource') })).json()['active'] === true
  const refresh = (value: string) =>
    nodes.ask('/oauth/token', { form: { grant_type: 'refresh_token', refresh_token: value }, basic: basicOf('app') })
  const isSignedIn = (cookies: ReadonlyMap<string, string>): Promise<boolean> => {
    const visitor = nodes.visitor()
    for (const [name, value] of cookies) visitor.cookies.set(name, value)
    return visitor.isSignedIn()
  }
  const read = (id: string) => nodes.ask(`/scim/v2/Users/${id}`, { bearer })
  const checkPerson = async (person: Person): Promise<void> => {
    const found = await read(person.id)
    if (found.status !== 200) throw new Violation(`${person.userName}: ${found.status}`)
    assertWhole(found.json(), new Set([person.version, ...person.doubtfulVersions]))
  }

  await each('an opaque token was lost', opaqueTokens.kept, isActive)
  await each('a revocation was lost', opaqueTokens.ended, async token => !(await isActive(token)))
  await each('a session was lost', sessions.kept, isSignedIn)
  await each('a logout was lost', sessions.ended, async cookies => !(await isSignedIn(cookies)))
  await each('a person was lost', people.kept, checkPerson)
  await each('a deletion was lost', people.ended, async ({ id }) => (await read(id)).status === 404)
  await each('a deletion was done by half', people.doubtful, async person => {
    if ((await read(person.id)).status !== 404) await checkPerson(person)
  })
  await each('a person was made by half', doubtfulNames, async userName => {
    const query = new URLSearchParams({ filter: `userName eq "${userName}"` })
    const found = await nodes.ask(`/scim/v2/Users?${query.toString()}`, { bearer })
    const records: unknown = found.json()['Resources']
    if (!Array.isArray(records) || records.length > 1) throw new Violation(found.text)
    if (records.length === 0) return
    assertWhole(records[0], new Set([0]))
    await nodes.visitor().signIn(userName, PASSWORD) // with the password, too
  })
  const approved = [...people.kept].filter(person => person.isApproved)
  await each('an approval was lost', approved, async person => {
    const visitor = nodes.visitor()
    await visitor.signIn(person.userName, PASSWORD)
    return (await visitor.authorize(authorization('asking', 'x'.repeat(43))))?.searchParams.has('code') === true
  })
  // Last, since it uses them up: what was ended must be refused, and take its grant with it.
  let undecided = 0
  await each('a refresh token was lost', refreshTokens.kept, async value => {
    const used = await refresh(value).catch((error: unknown) => {
      if (!isTrouble(error)) throw error
      undecided += 1 // used or not: unknown
    })
    return used === undefined || used.status === 200
  })
  if (undecided > refreshTokens.kept.size / 10) wrong.push(`${undecided} refresh tokens could not be compared`)
  await each('a refresh token was taken twice', refreshTokens.doubtful, async value => {
    await refresh(value) // taken then, or not before
    return (await refresh(value)).status === 400
  })
  await each(
    'a refresh token was taken twice',
    refreshTokens.ended,
    async value => (await refresh(value)).status === 400,
  )
  return wrong
}

/** Whether an error only means that the server was unavailable. */
const isTrouble = (error: unknown): boolean => error instanceof Unavailable || error instanceof Broken

async function retryWhileBusy<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!isTrouble(error) || attempt === ATTEMPTS) throw error
      await pause(500)
    }
  }
}
