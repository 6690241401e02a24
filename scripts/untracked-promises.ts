// Loaded before node:test, whose runner follows every promise of the process in order to name the test that left an error
// behind. That takes up to a third of the processor time of the tests. Without it, such an error fails the file and not the test.
import hooks from 'node:async_hooks'

const { createHook } = hooks
hooks.createHook = callbacks => createHook({ ...callbacks, trackPromises: false })
