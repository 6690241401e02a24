import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { commonPasswordFile, packagedPasswords } from '../../scripts/common-passwords.ts'
import { createCommonPasswords } from '../../src/users/common-passwords.ts'

describe('`createCommonPasswords`', () => {
  it('reads a file generated from the package', () => {
    const path = new URL('../../src/users/common-passwords.bin', import.meta.url)
    assert.ok(readFileSync(path).equals(commonPasswordFile()), 'run node scripts/common-passwords.ts')
  })
  it('lists exactly the passwords of the package', async () => {
    const isListed = await createCommonPasswords().load()
    const listed = packagedPasswords()
    assert.equal(listed.length, 49_233)
    assert.deepEqual(
      listed.filter(password => !isListed(password)),
      [],
    )
    for (const password of ['', 'Password', 'correct horse battery staple', 'x'.repeat(10_000)]) {
      assert.equal(isListed(password), false)
    }
  })
  it('reads the file once', async () => {
    const list = createCommonPasswords()
    assert.equal(await list.load(), await list.load())
  })
})
