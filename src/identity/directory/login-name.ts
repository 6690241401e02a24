// The login name of an entry: the value of the attribute that users are found by.
import { normalized } from '../../base/text/normalized.ts'
import type { DirectoryEntry } from './session.ts'
import type { DirectorySettings } from '../../providers/directory-settings.ts'

/** What an entry is called at sign-in. */
interface LoginName {
  readonly text: string
  /** Whether no other entry of the directory can be found by it. */
  readonly isUnique: boolean
  /** Whether it equals the typed name, by which the directory found only this entry. */
  readonly isTyped: boolean
}

/** The login name as the directory writes it, so that it does not depend on how it was typed. */
export function loginNameOf(
  { typedName, entry }: { readonly typedName: string; readonly entry: DirectoryEntry },
  settings: DirectorySettings,
): LoginName {
  const typed = typedName.trim()
  const { attributes, isUnambiguous } = settings.login
  const attribute = attributes
    .map(name => entry.attributes.get(name.toLowerCase()) ?? [])
    .find(values => values.length > 0)
  if (!attribute) return { text: typed, isUnique: false, isTyped: false }
  const same = attribute.find(value => folded(value) === folded(typed))
  return {
    text: same ?? attribute[0] ?? typed,
    isUnique:
      isUnambiguous && attributes.length === 1 && attribute.length === 1 && same !== undefined && !OTHER_ID.test(same),
    isTyped: isUnambiguous && same !== undefined,
  }
}

/** A DN, or the identifier of an entry: a user who may choose a login name must not be taken for another user. */
const OTHER_ID = /=|^[0-9a-f-]{32,36}$/i

/** As directories compare names; only for two names of the same entry. */
const folded = (name: string): string => normalized(name, 'NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
