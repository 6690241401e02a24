import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPasswords } from '../../../src/base/passwords.ts'
import { isStoredPassword } from '../../../src/identity/directory/stored-password.ts'
import { storedPasswords } from '../../support/slapd.ts'

const passwords = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })
// Truncated.
const BCRYPT = '$2b$04$abcdefghijklmnopqrstuu'

describe('isStoredPassword', () => {
  // Covers ldap config: passwordEncoder
  it('accepts the password only, in every scheme', async () => {
    for (const [scheme, stored] of Object.entries(storedPasswords('kóala'))) {
      assert.equal(await isStoredPassword(stored, 'kóala', passwords), true, scheme)
      for (const other of ['', 'koala', 'kóala ', 'KÓALA', stored]) {
        if (other !== stored || scheme !== 'plain') {
          assert.equal(await isStoredPassword(stored, other, passwords), false, `${scheme} ${other}`)
        }
      }
    }
  })

  it('accepts bcrypt hashes up to a maximum cost', async () => {
    const { hash } = await import('@node-rs/bcrypt')
    const stored = await hash('koala', 4)
    for (const scheme of ['{CRYPT}', '{BCRYPT}', '{crypt}']) {
      assert.equal(await isStoredPassword(scheme + stored, 'koala', passwords), true)
      assert.equal(await isStoredPassword(scheme + stored, 'koalb', passwords), false)
    }
    const none = { verify: () => assert.fail('a hash was computed') }
    for (const cost of ['15', '31', '99']) {
      assert.equal(await isStoredPassword(`{CRYPT}${stored.replace('$04$', `$${cost}$`)}`, 'koala', none), false)
    }
  })

  const unknown = [
    '',
    '{SSHA}',
    '{SHA}',
    '{MD5}',
    '{CLEARTEXT}',
    '{CRYPT}',
    '{CRYPT}koala',
    `{CRYPT}${BCRYPT}`,
    '{CRYPT}$argon2id$v=19$m=4194304,t=99,p=1$c2FsdHNhbHQ$c2FsdHNhbHQ',
    '{ARGON2}$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$c2FsdHNhbHQ',
    '{ROT13}koala',
    '{}koala',
    '{constructor}koala',
    '{__proto__}koala',
    '{SHA}a29hbGE=',
    '{SSHA}a29hbGE=',
    '{SSHA512}a29hbGE=',
  ]
  for (const stored of unknown) {
    it(`refuses every password for ${stored === '' ? 'an empty value' : stored}`, async () => {
      for (const password of ['koala', '']) {
        assert.equal(await isStoredPassword(stored, password, passwords), false)
      }
    })
  }
})
