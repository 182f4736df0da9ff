package setup

import (
	"path"
	"slices"
	"strings"
)

// TorchVersion is the libtorch that torchfx is made for: its operators are the
// embedded catalogue, its results are the ones that parity is tested against.
const TorchVersion = "2.15.0"

// oldestTorch is the oldest libtorch that the bridge is written for; a folder
// given by LIBTORCH may be as old.
var oldestTorch = [2]int{2, 11}

// A wheel is one file of the package index, pinned by version and content. Its
// Python tag does not matter: nothing of Python in it is used.
type wheel struct {
	project  string // name in the index
	version  string
	platform string // platform tag, as pip takes it
	sha256   string
	size     int64 // bytes to download; for wheels of another platform than linux/amd64 roughly
}

// A component is the part of a wheel that is unpacked as a whole. Files keep
// their paths, so that libraries find each other by the run path they have.
type component struct {
	name     string // of its mark, unique in a home
	wheel    wheel
	roots    []string               // libraries to unpack with all that they need from the same wheel
	keep     func(file string) bool // further files, by slash-separated path
	unpacked int64                  // bytes on disk, roughly
}

func torchCPU(w wheel, unpacked int64, roots ...string) component {
	return component{"torch", w, roots, func(file string) bool {
		return strings.HasPrefix(file, "torch/include/") || strings.Contains(file, ".dist-info/licenses/")
	}, unpacked}
}

func torchCUDA(w wheel) component {
	libs := []string{"libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libtorch_nvshmem.so", "libcaffe2_nvrtc.so"}
	return component{"torch-cuda", w, nil, func(file string) bool {
		dir, base := path.Split(file)
		return dir == "torch/lib/" && slices.Contains(libs, base)
	}, 550e6}
}

// cudaHeaders are what the library that captures CUDA graphs is compiled with.
func cudaHeaders(w wheel) component {
	return component{"cuda-headers", w, nil, func(file string) bool {
		dir, base := path.Split(file)
		return strings.HasPrefix(dir, "nvidia/") && strings.HasSuffix(dir, "/include/") && (strings.HasSuffix(base, ".h") || strings.HasSuffix(base, ".hpp"))
	}, 4e6}
}

// nvidia is a wheel of which only the libraries are unpacked; libs names them, or
// is empty for all.
func nvidia(w wheel, unpacked int64, libs ...string) component {
	return component{w.project, w, nil, func(file string) bool {
		dir, base := path.Split(file)
		if strings.Contains(dir, ".dist-info/licenses/") {
			return true
		}
		if !strings.HasPrefix(dir, "nvidia/") || !strings.HasSuffix(dir, "/lib/") || !strings.Contains(base, ".so") {
			return false
		}
		return len(libs) == 0 || slices.Contains(libs, base)
	}, unpacked}
}

// platforms lists where the official wheels run. Hashes are the index's own, as
// `pip install --dry-run --report - --platform TAG NAME==VERSION` tells them;
// the versions beside torch are those its metadata requires.
var platforms = []platform{
	{
		goos: "linux", goarch: "amd64", tested: true, glibc: [2]int{2, 28}, delegate: theDelegate,
		cpu: []component{
			torchCPU(torchLinuxAMD64, 510e6, "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so"),
			nvidia(cudartLinuxAMD64, 1e6, "libcudart.so.13"),
			nvidia(wheel{"nvidia-cuda-cupti", "13.2.86", "manylinux_2_25_x86_64", "8fa29f15dd8336181f961764d9d95236fc6b931dd0c8fcf8cd70aab0c310b586", 11988600}, 6e6, "libcupti.so.13"),
		},
		cuda: []component{
			torchCUDA(torchLinuxAMD64),
			cudaHeaders(cudartLinuxAMD64),
			nvidia(wheel{"nvidia-cublas", "13.4.1.3", "manylinux_2_27_x86_64", "a5917cb642cfb07f4a0231ee16aec7e2e0357d8cb8b1b78a0c9c68dba3e6afc7", 404870805}, 564e6),
			nvidia(wheel{"nvidia-cuda-nvrtc", "13.2.86", "manylinux_2_12_x86_64", "8111c5130e967b78222ea2124145f8efe9ce201b752b2579a2513100a53be1c5", 47018468}, 120e6),
			nvidia(wheel{"nvidia-cudnn-cu13", "9.26.0.51", "manylinux_2_27_x86_64", "9c976d539786698c71d6bcdbe2053b7485fae062ff7e1215d2f2ff67b1a2149a", 519150073}, 888e6),
			nvidia(wheel{"nvidia-cufft", "12.2.0.57", "manylinux2014_x86_64", "34da27fadf3979b0b042c43823f0530be8408b86df31ee0108e1ca0b621d4ef6", 218258101}, 292e6),
			nvidia(wheel{"nvidia-cufile", "1.17.1.22", "manylinux_2_27_x86_64", "87feaf8c3ad20d3d03a01933181801ff6892bace5c8f0b1e4b48f319d3e62d36", 1387670}, 4e6),
			nvidia(wheel{"nvidia-cusolver", "12.2.0.11", "manylinux_2_27_x86_64", "fab5778f6769947389a1a6abc07e635576825a08c0ffc68c3ae7f1392c794b42", 227913465}, 277e6),
			nvidia(wheel{"nvidia-cusparse", "12.7.10.12", "manylinux2014_x86_64", "25907c75e4db1581685f06f61cc6cdecc04611765516a52373e0a18ebd69fa00", 150999307}, 168e6),
			nvidia(wheel{"nvidia-cusparselt-cu13", "0.8.1", "manylinux2014_x86_64", "786ce87568c303fadb5afcc7102d454cd3040d75f6f8626f5db460d1871f4dd0", 170148586}, 234e6),
			nvidia(wheel{"nvidia-nccl-cu13", "2.30.7", "manylinux_2_18_x86_64", "cefa7fdb9710efd0f39c5f1be1d61ff6fc9a996c451265bd7fbdcf9455ed4b50", 215965170}, 253e6),
			nvidia(wheel{"nvidia-nvjitlink", "13.5.37", "manylinux_2_12_x86_64", "280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb", 46642491}, 118e6),
			nvidia(wheel{"nvidia-nvshmem-cu13", "3.7.2", "manylinux2014_x86_64", "b9a4f843c62b5dded8ad33fd6d220e007dcd39f06cee549292f5ba14ce4c235c", 135397797}, 52e6),
			nvidia(wheel{"nvidia-nvtx", "13.2.86", "manylinux_2_5_x86_64", "968ce72baee2a01791c7d3254000eac81f24677b0b91c62d21b449a1f309c245", 153463}, 1e6),
		},
	},
	{
		goos: "linux", goarch: "arm64", glibc: [2]int{2, 28},
		cpu: []component{
			torchCPU(torchLinuxARM64, 430e6, "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so"),
			nvidia(cudartLinuxARM64, 1e6, "libcudart.so.13"),
			nvidia(wheel{"nvidia-cuda-cupti", "13.2.86", "manylinux_2_25_aarch64", "d9a5c133f73fcb9013f3ada0da6fb54d4117618d81f3f5a0419417ea6ee829d4", 12000000}, 6e6, "libcupti.so.13"),
		},
		cuda: []component{
			torchCUDA(torchLinuxARM64),
			cudaHeaders(cudartLinuxARM64),
			nvidia(wheel{"nvidia-cublas", "13.4.1.3", "manylinux_2_27_aarch64", "4eb1472bf92b741e7cf24da7978dde251b58ddec2092d9f6a04f3623eb4e9a15", 405e6}, 564e6),
			nvidia(wheel{"nvidia-cuda-nvrtc", "13.2.86", "manylinux2014_aarch64", "1e5d7b411a2eb83f5c71c98d58133a763fc9fa86a4241ee320c5c4782d9ad1fd", 47e6}, 120e6),
			nvidia(wheel{"nvidia-cudnn-cu13", "9.26.0.51", "manylinux_2_27_aarch64", "8e5b4f5eccff721416f70ecf4353172fc4d5cdd8ca869fe6f983a4a5b0147b20", 519e6}, 888e6),
			nvidia(wheel{"nvidia-cufft", "12.2.0.57", "manylinux2014_aarch64", "1ed438568ae1088ba2c25789d10205d4104b8b140b7bd942e39a787947a0fb74", 218e6}, 292e6),
			nvidia(wheel{"nvidia-cufile", "1.17.1.22", "manylinux_2_27_aarch64", "bec33d7f1f12691dce330275246587569c2ed90b1ce43b0f94b3e1ce9268744b", 2e6}, 4e6),
			nvidia(wheel{"nvidia-cusolver", "12.2.0.11", "manylinux_2_27_aarch64", "8be097fca28de6be0990ab216ee9b804dd51077e1d1d83acf6c9850650bdc64d", 228e6}, 277e6),
			nvidia(wheel{"nvidia-cusparse", "12.7.10.12", "manylinux2014_aarch64", "597eff2cd83e3ab1d1e3a0dce9c9c879d77cf64ec2659bfdb5af6a5d02e7aaa9", 151e6}, 168e6),
			nvidia(wheel{"nvidia-cusparselt-cu13", "0.8.1", "manylinux2014_aarch64", "4dca476c50bf4780d46cd0bfbd82e2bc10a08e4fef7950917ce8d7578d22a23f", 170e6}, 234e6),
			nvidia(wheel{"nvidia-nccl-cu13", "2.30.7", "manylinux_2_18_aarch64", "ca786ffa5a647c75d4d1f5cc72a6c4f537947e2ba8823d7c8aaf768e7a7b9f77", 216e6}, 253e6),
			nvidia(wheel{"nvidia-nvjitlink", "13.5.37", "manylinux2014_aarch64", "893f6f9a55b2720ed94913b5ba3332e972da8c78dfa2863d0244403dbd528ffc", 47e6}, 118e6),
			nvidia(wheel{"nvidia-nvshmem-cu13", "3.7.2", "manylinux2014_aarch64", "0e748308b9e0a8a8d81859353f3e6c98fbe85a85f652a915a2ba60149a0bd124", 135e6}, 52e6),
			nvidia(wheel{"nvidia-nvtx", "13.2.86", "manylinux2014_aarch64", "1c6ae1be92fba569dd271f7b9b3056f99f5642726dc6c53d1b93ae4110c398fb", 1e6}, 1e6),
		},
	},
	{
		goos: "darwin", goarch: "arm64",
		cpu: []component{
			torchCPU(wheel{"torch", TorchVersion, "macosx_14_0_arm64", "e808b63d616a43b326e1a5677d45a2e5babe7a8ce27edb03ddb48e7dd9b6d663", 138527954}, 480e6,
				"torch/lib/libtorch_cpu.dylib", "torch/lib/libc10.dylib"),
		},
	},
}

var (
	torchLinuxAMD64  = wheel{"torch", TorchVersion, "manylinux_2_28_x86_64", "48c2d861134c0b5697c7602cb5ffa68f62a2989fdcd1717e593356f67996ca1e", 539136850}
	cudartLinuxAMD64 = wheel{"nvidia-cuda-runtime", "13.2.86", "manylinux2014_x86_64", "3498247680dfddce31bad102af7e3e26fc795342a3cac64722bb0fa95e7f60f0", 2323576}
	cudartLinuxARM64 = wheel{"nvidia-cuda-runtime", "13.2.86", "manylinux2014_aarch64", "37844957894bfdecf90243568d21a2cb251b66106915b71459a23c8e6ef2da69", 2300000}
	torchLinuxARM64  = wheel{"torch", TorchVersion, "manylinux_2_28_aarch64", "58ce2ebfb3430941353109a85be63ee8e941da22f13daa2c43344eeb51c81e06", 483605887}
)

// pythonTag selects which of a project's wheels is meant where there is one per
// Python version; the hashes above belong to it.
const pythonTag = "3.11"
