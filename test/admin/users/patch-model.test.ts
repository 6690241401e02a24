// Tests PATCH and PUT of a user against a small model of the rules of UAA.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readUserBody } from '../../../src/admin/users/body.ts'
import { differsInNamesOnly, patched, replaced } from '../../../src/admin/users/wanted.ts'
import type { User } from '../../../src/model/users/user.ts'
import { user as userOf } from '../../store/records.ts'
import { runs } from '../../support/thinning.ts'

const RUNS = { numRuns: runs(300) }
const word: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c@test.org', 'd')
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const stored = fc.record({
  userName: word,
  email: word,
  givenName: optional(word),
  familyName: optional(word),
  phoneNumber: optional(word),
  externalId: optional(word),
  salt: optional(word),
  active: fc.boolean(),
  verified: fc.boolean(),
})
type Stored = typeof stored extends fc.Arbitrary<infer T> ? T : never

const CLEARABLE = ['emails', 'phoneNumbers', 'name', 'name.givenName', 'name.familyName', 'title', 'nickName'] as const
const patch = fc.record(
  {
    userName: word,
    name: fc.record({ givenName: word, familyName: word }, { requiredKeys: [] }),
    emails: fc.array(fc.record({ value: word, primary: fc.boolean() }, { requiredKeys: ['value'] }), { maxLength: 3 }),
    phoneNumbers: fc.array(fc.record({ value: fc.constantFrom('1', '2', ' ') }), { maxLength: 3 }),
    active: fc.boolean(),
    verified: fc.boolean(),
    externalId: word,
    salt: word,
    meta: fc.record({ attributes: fc.subarray([...CLEARABLE]) }),
  },
  { requiredKeys: [] },
)
type Patch = typeof patch extends fc.Arbitrary<infer T> ? T : never

const withoutUndefined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T // the defined members

const recordOf = (state: Stored): User => userOf(withoutUndefined(state) as Partial<User>)
const stateOf = (user: User): Stored => {
  const { userName, email, givenName, familyName, phoneNumber, externalId, salt, active, verified } = user
  return { userName, email, givenName, familyName, phoneNumber, externalId, salt, active, verified }
}

/** The state after a PATCH; undefined if no email is left. */
function modelOfPatch(before: Stored, sent: Patch): Stored | undefined {
  const cleared = new Set<string>(sent.meta?.attributes ?? [])
  const emails = sent.emails ?? []
  const email =
    emails.find(({ primary }) => primary === true) ?? (cleared.has('emails') ? emails[0] : { value: before.email })
  if (email === undefined) return undefined
  const clears = (part: string): boolean => cleared.has('name') || cleared.has(`name.${part}`)
  const phone = (sent.phoneNumbers ?? []).map(({ value }) => value).find(value => value !== ' ')
  return {
    ...before,
    userName: sent.userName ?? before.userName,
    email: email.value,
    givenName: sent.name?.givenName ?? (clears('givenName') ? undefined : before.givenName),
    familyName: sent.name?.familyName ?? (clears('familyName') ? undefined : before.familyName),
    phoneNumber: phone ?? (cleared.has('phoneNumbers') ? undefined : before.phoneNumber),
    active: sent.active ?? before.active,
    verified: sent.verified ?? before.verified,
  }
}

describe('User changes', () => {
  it('match the model of PATCH', () => {
    fc.assert(
      fc.property(stored, patch, (before, sent) => {
        const want = modelOfPatch(before, sent)
        const change = (): User => patched(recordOf(before), readUserBody(sent))
        if (want) assert.deepEqual(stateOf(change()), want)
        else assert.throws(change, { error: 'invalid_scim_resource' })
      }),
      RUNS,
    )
  })

  it('match the model of PUT, which resets everything but the salt', () => {
    fc.assert(
      fc.property(stored, patch, (before, sent) => {
        const { userName, name, emails = [], phoneNumbers = [], active, verified, externalId, salt } = sent
        const [email, second] = emails
        const change = (): User => replaced(recordOf(before), readUserBody(sent))
        if (userName === undefined || !name || !email || second) {
          assert.throws(change, { error: 'invalid_scim_resource' })
          return
        }
        assert.deepEqual(stateOf(change()), {
          userName,
          email: email.value,
          givenName: name.givenName,
          familyName: name.familyName,
          phoneNumber: phoneNumbers.map(({ value }) => value).find(value => value !== ' '),
          externalId,
          salt: salt ?? before.salt,
          active: active ?? true,
          verified: verified ?? true,
        })
      }),
      RUNS,
    )
  })

  it('let users change only their own names', () => {
    fc.assert(
      fc.property(stored, stored, (before, after) => {
        const { givenName: _, familyName: _family, ...kept } = before
        const { givenName: _given, familyName: _last, ...others } = after
        const isSame = JSON.stringify(kept) === JSON.stringify(others)
        assert.equal(differsInNamesOnly(recordOf(before), recordOf(after)), isSame)
        assert.ok(differsInNamesOnly(recordOf(before), recordOf({ ...before, givenName: 'x', familyName: 'y' })))
      }),
      RUNS,
    )
  })

  it('keep id, zone, origin, password and version', () => {
    fc.assert(
      fc.property(stored, patch, (before, sent) => {
        const user = { ...recordOf(before), passwordHash: 'h', version: 3 }
        try {
          const { id, zoneId, origin, passwordHash, passwordRevision, version } = patched(user, readUserBody(sent))
          assert.deepEqual(
            { id, zoneId, origin, passwordHash, passwordRevision, version },
            { id: 'u1', zoneId: 'z1', origin: 'svc', passwordHash: 'h', passwordRevision: 'p1', version: 3 },
          )
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error
        }
      }),
      RUNS,
    )
  })
})
