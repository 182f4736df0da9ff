package nn

import "reflect"

// ClassName returns the class of a module as Python would name it:
// "torch.nn.modules.conv.Conv2d" for a layer or container of this package. Any
// other says it itself by a method ClassName() string, as the Go form of a Python
// class may, or is named by its Go type, "example.com/models.Block".
func ClassName(m Module) string {
	if named, ok := m.(interface{ ClassName() string }); ok {
		return named.ClassName()
	}
	if c := classOf(m); c != nil {
		return c.Module + "." + c.Name
	}
	switch m.(type) {
	case *Sequential, *ModuleList, *ModuleDict, *ParameterList, *ParameterDict:
		return "torch.nn.modules.container." + typeName(m)
	}
	t := reflect.TypeOf(m).Elem()
	return t.PkgPath() + "." + t.Name()
}
