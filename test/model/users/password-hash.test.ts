import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPasswords } from '../../../src/base/passwords.ts'
import { passwordHashProblem } from '../../../src/model/users/password-hash.ts'

const BCRYPT = '$2b$04$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK'
const SALT = 'MDEyMzQ1Njc4OWFiY2RlZg'
const DIGEST = 'YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE'
const argon2 = (parameters: string, salt = SALT, digest = DIGEST): string =>
  `$argon2id$v=19$${parameters}$${salt}$${digest}`

describe('passwordHashProblem', () => {
  for (const hash of [
    BCRYPT,
    BCRYPT.replace('$2b$', '$2a$'),
    BCRYPT.replace('$2b$04$', '$2y$12$'),
    argon2('m=19456,t=2,p=1'),
    argon2('m=65536,t=3,p=4'),
    argon2('m=65536,t=4,p=1'),
  ]) {
    it(`accepts ${hash.slice(0, 32)}`, () => assert.equal(passwordHashProblem(hash), undefined))
  }

  for (const [name, hash] of [
    ['empty', ''],
    ['a password', 'secret'],
    ['bcrypt with too low a cost', BCRYPT.replace('$04$', '$03$')],
    ['bcrypt with too high a cost', BCRYPT.replace('$04$', '$13$')],
    ['a truncated bcrypt hash', BCRYPT.slice(0, -1)],
    ['bcrypt with a prefix', `{bcrypt}${BCRYPT}`],
    ['bcrypt of version 2x', BCRYPT.replace('$2b$', '$2x$')],
    ['bcrypt with a trailing line break', `${BCRYPT}\n`],
    ['argon2i', argon2('m=19456,t=2,p=1').replace('argon2id', 'argon2i')],
    ['another version of argon2', argon2('m=19456,t=2,p=1').replace('v=19', 'v=16')],
    ['parameters in another order', argon2('t=2,m=19456,p=1')],
    ['too much memory', argon2('m=65537,t=1,p=1')],
    ['a terabyte of memory', argon2('m=1073741824,t=1,p=1')],
    ['too little memory', argon2('m=7,t=1,p=1')],
    ['too many iterations', argon2('m=8,t=11,p=1')],
    ['too high a cost', argon2('m=65536,t=5,p=1')],
    ['too many lanes', argon2('m=4096,t=1,p=9')],
    ['a leading zero', argon2('m=019456,t=2,p=1')],
    ['padding', argon2('m=19456,t=2,p=1', `${SALT}==`)],
    ['base64 with spare bits', argon2('m=19456,t=2,p=1', 'MDEyMzQ1Njc4OWFiY2RlZh')],
    ['a short salt', argon2('m=19456,t=2,p=1', 'MDEy')],
    ['pbkdf2', '$pbkdf2-sha256$29000$N2YMIWQsBWBMae09x1jrPQ$1t8iyB2A.WF/Z5JZv.lfCIhXXN33N23OSgQYThBYRfk'],
  ] as const) {
    it(`rejects ${name}`, () => assert.notEqual(passwordHashProblem(hash), undefined))
  }

  it('accepts a hash of this server', async () => {
    const passwords = createPasswords({ concurrency: 1, cost: { memoryKib: 64, passes: 1 } })
    const hash = await passwords.hash('koala')
    assert.equal(passwordHashProblem(hash), undefined)
    assert.equal(await passwords.verify(hash, 'koala'), true)
  })
})
