package libtorch

// Debug is debug, for the tests outside the package.
const Debug = debug
